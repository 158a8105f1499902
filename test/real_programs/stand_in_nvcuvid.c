/* Stands in for NVIDIA's video decoder: it decodes nothing, and says so. Without one GStreamer's
   nvcodec offers no elements at all, those for memory and scaling included. */
/* SPDX-License-Identifier: Apache-2.0 */

#define EXPORTED __attribute__((visibility("default")))
#define REFUSES(symbol)                                                                            \
  EXPORTED int symbol(void) { return 801; } /* CUDA_ERROR_NOT_SUPPORTED */

REFUSES(cuvidCreateDecoder)
REFUSES(cuvidCreateVideoParser)
REFUSES(cuvidCtxLock)
REFUSES(cuvidCtxLockCreate)
REFUSES(cuvidCtxLockDestroy)
REFUSES(cuvidCtxUnlock)
REFUSES(cuvidDecodePicture)
REFUSES(cuvidDestroyDecoder)
REFUSES(cuvidDestroyVideoParser)
REFUSES(cuvidGetDecodeStatus)
REFUSES(cuvidGetDecoderCaps)
REFUSES(cuvidMapVideoFrame)
REFUSES(cuvidMapVideoFrame64)
REFUSES(cuvidParseVideoData)
REFUSES(cuvidReconfigureDecoder)
REFUSES(cuvidUnmapVideoFrame)
REFUSES(cuvidUnmapVideoFrame64)
