"""ONNX Runtime: a session on the device, inputs and outputs bound to its memory."""
# SPDX-License-Identifier: Apache-2.0
import figures
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def model():
    def weights(name, *shape):
        return numpy_helper.from_array(numpy.ones(shape, numpy.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["convolved"]),
        helper.make_node("Relu", ["convolved"], ["positive"]),
        helper.make_node("MaxPool", ["positive"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "matrix"], ["product"]),
        helper.make_node("LayerNormalization", ["product", "scale"], ["normal"]),
        helper.make_node("Softmax", ["normal"], ["y"]),
    ]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 32, 32])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])
    parts = [weights("kernel", 8, 3, 3, 3), weights("matrix", 8 * 15 * 15, 10), weights("scale", 10)]
    graph = helper.make_graph(nodes, "graph", [image], [answer], parts)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    onnx.checker.check_model(made)
    return made.SerializeToString()


def main():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model(), options, providers=["CUDAExecutionProvider"])
    print(session.get_providers()[0])
    image = numpy.ones((2, 3, 32, 32), numpy.float32)
    print(session.run(None, {"x": image})[0].shape)
    moved = onnxruntime.OrtValue.ortvalue_from_numpy(image, "cuda", 0)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", moved)
    binding.bind_output("y", "cuda")
    session.run_with_iobinding(binding)
    answer = binding.get_outputs()[0]
    print(answer.device_name(), answer.shape(), float(moved.numpy().sum()))
    figures.leave({"providers": session.get_providers()}, used=[[moved.data_ptr(), image.nbytes]])


if __name__ == "__main__":
    main()
