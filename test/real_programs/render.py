# Renders Blender's first scene by Cycles on CUDA, in a small size, and fails where it cannot.
# SPDX-License-Identifier: Apache-2.0
import bpy

settings = bpy.context.preferences.addons["cycles"].preferences
settings.compute_device_type = "CUDA"
settings.get_devices()
for device in settings.devices:
    device.use = device.type == "CUDA"
    if device.use:
        print("device", device.name)

scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.cycles.device = "GPU"
scene.cycles.samples = 1
scene.cycles.use_denoising = False
scene.render.resolution_x = scene.render.resolution_y = 64
scene.render.filepath = "//frame.png"
bpy.ops.render.render(write_still=True)
