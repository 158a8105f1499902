// Graphics interop in a process that has no graphics: every function says so in its own way.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/by_name.h"

#include "interpose/table/graphics.h"

static CUstream stream = nullptr;

static void resources() {
  CUgraphicsResource none = nullptr;
  CUdeviceptr address = 0;
  CUdeviceptr_v1 short_address = 0;
  std::size_t bytes = 0;
  unsigned short_bytes = 0;
  CUarray array = nullptr;
  CUmipmappedArray levels = nullptr;
  CALL(cuGraphicsMapResources, 1u, &none, stream);
  CALL(cuGraphicsMapResources_ptsz, 1u, &none, stream);
  CALL(cuGraphicsResourceGetMappedPointer, &short_address, &short_bytes, none);
  CALL(cuGraphicsResourceGetMappedPointer_v2, &address, &bytes, none);
  CALL(cuGraphicsResourceGetMappedMipmappedArray, &levels, none);
  CALL(cuGraphicsSubResourceGetMappedArray, &array, none, 0u, 0u);
  CALL(cuGraphicsUnmapResources, 1u, &none, stream);
  CALL(cuGraphicsUnmapResources_ptsz, 1u, &none, stream);
  CALL(cuGraphicsUnregisterResource, none);
}

static void buffers() {
  CUgraphicsResource resource = nullptr;
  CUdeviceptr address = 0;
  CUdeviceptr_v1 short_address = 0;
  std::size_t bytes = 0;
  unsigned short_bytes = 0;
  CALL(cuGraphicsGLRegisterBuffer, &resource, 1u, 0u);
  CALL(cuGraphicsGLRegisterImage, &resource, 1u, 0x0de1u, 0u);
  CALL(cuGLRegisterBufferObject, 1u);
  CALL(cuGLMapBufferObject, &short_address, &short_bytes, 1u);
  CALL(cuGLMapBufferObject_v2, &address, &bytes, 1u);
  CALL(cuGLMapBufferObject_v2_ptds, &address, &bytes, 1u);
  CALL(cuGLMapBufferObjectAsync, &short_address, &short_bytes, 1u, stream);
  CALL(cuGLMapBufferObjectAsync_v2, &address, &bytes, 1u, stream);
  CALL(cuGLMapBufferObjectAsync_v2_ptsz, &address, &bytes, 1u, stream);
  CALL(cuGLUnmapBufferObject, 1u);
  CALL(cuGLUnmapBufferObjectAsync, 1u, stream);
  CALL(cuGLUnregisterBufferObject, 1u);
}

int main() {
  start_by_name();
  resources();
  buffers();
}
