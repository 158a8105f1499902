"""The driver by ctypes, for gpu_questions.py: a context of the first device, and short calls."""
# SPDX-License-Identifier: Apache-2.0
import ctypes

KIB, MIB = 1 << 10, 1 << 20

KERNELS = """
.version 6.4
.target sm_52
.address_size 64
.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %now, %end;
  .reg .pred %again;
  ld.param.u64 %end, [ns];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %end, %now;
loop:
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %again, %now, %end;
  @%again bra loop;
  ret;
}
.visible .entry fault(.param .u64 ns)
{
  .reg .u64 %where;
  .reg .u32 %what;
  mov.u64 %where, 16;
  mov.u32 %what, 1;
  st.global.u32 [%where], %what;
  ret;
}
"""


class Driver:
    """Calls by name, gpu.cuMemFree_v2(address): whole numbers are passed as 64 bits."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.must("cuInit", self.library.cuInit(0))
        self.retain()

    def __getattr__(self, name):
        def call(*arguments):
            return self.raw(name, *[ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments])

        return call

    def raw(self, name, *arguments):
        return self.library[name](*arguments)

    @staticmethod
    def must(what, code):
        if code != 0:
            raise RuntimeError(f"{what} failed with {code}")

    def symbol(self, name):
        try:
            return ctypes.cast(self.library[name], ctypes.c_void_p).value
        except AttributeError:
            return None

    def proc_address(self, name, version):
        """(code, address, status)"""
        address, status = ctypes.c_void_p(), ctypes.c_int(-1)
        code = self.library.cuGetProcAddress_v2(
            name.encode(), ctypes.byref(address), ctypes.c_int(version), ctypes.c_uint64(0),
            ctypes.byref(status),
        )  # fmt: skip
        return code, address.value, status.value

    def retain(self):
        context = ctypes.c_void_p()
        self.must("retain", self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.context = context.value
        self.set_current(self.context)
        return self.context

    def set_current(self, context):
        self.library.cuCtxSetCurrent(ctypes.c_void_p(context))

    def leave_contexts(self):
        """None is current then, nor below it on the thread's stack."""
        current = ctypes.c_void_p(1)
        while current.value:
            self.library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
            self.must("cuCtxGetCurrent", self.library.cuCtxGetCurrent(ctypes.byref(current)))

    def create_context(self):
        """Another context of the device, current from now on."""
        context = ctypes.c_void_p()
        self.must("cuCtxCreate", self.library.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
        return context.value

    def try_alloc(self, size):
        address = ctypes.c_uint64(0)
        return self.cuMemAlloc_v2(ctypes.byref(address), size), address.value

    def alloc(self, size):
        code, address = self.try_alloc(size)
        self.must("cuMemAlloc", code)
        return address

    def pinned(self, size):
        address = ctypes.c_void_p()
        self.must("cuMemHostAlloc", self.cuMemHostAlloc(ctypes.byref(address), size, 0))
        return address.value

    def stream(self):
        stream = ctypes.c_void_p()
        self.must("cuStreamCreate", self.cuStreamCreate(ctypes.byref(stream), 1))
        return stream

    def memory(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.must("cuMemGetInfo", self.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
        return free.value, total.value

    def free_memory(self):
        return self.memory()[0]

    def total_memory(self):
        return self.memory()[1]

    def attribute(self, which, address):
        """(code, value) of an attribute of 64 bits at most."""
        value = ctypes.c_uint64(0)
        code = self.cuPointerGetAttribute(ctypes.byref(value), ctypes.c_int(which), address)
        return code, value.value

    def address_range(self, address):
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        return self.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), address)

    def address_range_size(self, address):
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.must(
            "cuMemGetAddressRange",
            self.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), address),
        )
        return size.value

    def begin_capture(self, stream, mode):
        """Modes: 0 global, 1 of the thread, 2 relaxed."""
        return self.cuStreamBeginCapture_v2(stream, ctypes.c_int(mode))

    def end_capture(self, stream):
        return self.cuStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))

    def ipc_handle(self, address):
        handle = (ctypes.c_char * 64)()
        self.must("cuIpcGetMemHandle", self.cuIpcGetMemHandle(ctypes.byref(handle), address))
        return bytes(handle)

    def ipc_open(self, handle):
        """(code, address); the handle is passed by value."""

        class Handle(ctypes.Structure):
            _fields_ = [("reserved", ctypes.c_char * 64)]

        given = Handle()
        ctypes.memmove(ctypes.byref(given), handle, 64)
        address = ctypes.c_uint64()
        code = self.library.cuIpcOpenMemHandle_v2(ctypes.byref(address), given, ctypes.c_uint(1))
        return code, address.value


def spin(gpu, name="spin"):
    """A launcher of the kernel in the current context, on its default stream; None: none runs.

    Loads the module in any case.
    """
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if gpu.cuModuleLoadData(ctypes.byref(module), KERNELS.encode()) != 0:
        return None
    if gpu.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) != 0:
        return None
    try:  # the simulated driver says so; it runs no kernels
        gpu.library["vramscope_simulated_launches"]
        return None
    except AttributeError:
        pass

    def launch(ns):
        value = ctypes.c_uint64(ns)
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
        one, none = ctypes.c_uint(1), ctypes.c_uint(0)
        return gpu.library.cuLaunchKernel(
            function, one, one, one, one, one, one, none, None, arguments, None
        )

    return launch
