"""TensorFlow: a small Keras model, trained, and mathematics; its allocator takes a GiB at once, as it is told."""
# SPDX-License-Identifier: Apache-2.0
import figures
import numpy
import tensorflow as tf

LIMIT_MIB = 1024


def main():
    device = tf.config.list_physical_devices("GPU")[0]
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=LIMIT_MIB)
    tf.config.set_logical_device_configuration(device, [limit])
    tf.keras.utils.set_random_seed(1)
    print(tf.config.experimental.get_device_details(device)["device_name"])
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((16, 16, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(),
                                 layers.ReLU(), layers.Flatten(), layers.Dense(8)])  # fmt: skip
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images, kinds = numpy.ones((32, 16, 16, 3), numpy.float32), numpy.zeros(32, numpy.int32)
    history = model.fit(images, kinds, batch_size=8, epochs=2, verbose=0)
    print(len(history.history["loss"]), model.predict(images[:4], verbose=0).shape, model.count_params())
    matrix = tf.eye(32)
    print(tf.linalg.svd(matrix)[0].shape, tf.signal.rfft(matrix).shape, tf.matmul(matrix, matrix).shape)
    figures.leave({"limit": LIMIT_MIB}, [[None, LIMIT_MIB << 20]])


if __name__ == "__main__":
    main()
