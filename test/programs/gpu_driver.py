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
.visible .entry copy(.param .u64 source, .param .u64 target, .param .u64 count)
{
  .reg .u64 %source, %target, %count, %i, %step, %offset, %at;
  .reg .u32 %block, %threads, %thread, %blocks, %a, %b, %c, %d;
  .reg .pred %over;
  ld.param.u64 %source, [source];
  ld.param.u64 %target, [target];
  ld.param.u64 %count, [count];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  cvt.u64.u32 %i, %thread;
  mad.wide.u32 %i, %block, %threads, %i;
  mul.wide.u32 %step, %blocks, %threads;
again:
  setp.ge.u64 %over, %i, %count;
  @%over bra end;
  shl.b64 %offset, %i, 4;
  add.u64 %at, %source, %offset;
  ld.global.v4.u32 {%a, %b, %c, %d}, [%at];
  add.u64 %at, %target, %offset;
  st.global.v4.u32 [%at], {%a, %b, %c, %d};
  add.u64 %i, %i, %step;
  bra again;
end:
  ret;
}
.visible .entry random_reads(.param .u64 source, .param .u64 target, .param .u64 lines,
                             .param .u64 rounds)
{
  .reg .u64 %source, %target, %lines, %rounds, %i, %state, %line, %at;
  .reg .u32 %block, %threads, %thread, %sum, %value;
  .reg .pred %more;
  ld.param.u64 %source, [source];
  ld.param.u64 %target, [target];
  ld.param.u64 %lines, [lines];
  ld.param.u64 %rounds, [rounds];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  cvt.u64.u32 %i, %thread;
  mad.wide.u32 %i, %block, %threads, %i;
  mul.lo.u64 %state, %i, 6364136223846793005;
  mov.u32 %sum, 0;
again:
  mul.lo.u64 %state, %state, 6364136223846793005;
  add.u64 %state, %state, 1442695040888963407;
  mul.hi.u64 %line, %state, %lines;
  shl.b64 %line, %line, 7;
  add.u64 %at, %source, %line;
  ld.global.u32 %value, [%at];
  add.u32 %sum, %sum, %value;
  sub.u64 %rounds, %rounds, 1;
  setp.ne.u64 %more, %rounds, 0;
  @%more bra again;
  shl.b64 %i, %i, 2;
  add.u64 %at, %target, %i;
  st.global.u32 [%at], %sum;
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


def kernel(gpu, name):
    """A launcher of the kernel in the current context, on its default stream; None: none runs.

    launch(*numbers of 64 bits, blocks=1, threads=1) gives the code. Loads the module in any case.
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

    def launch(*numbers, blocks=1, threads=1):
        values = [ctypes.c_uint64(number) for number in numbers]
        places = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
        arguments = (ctypes.c_void_p * len(places))(*places)
        grid, block = ctypes.c_uint(blocks), ctypes.c_uint(threads)
        one, none = ctypes.c_uint(1), ctypes.c_uint(0)
        return gpu.library.cuLaunchKernel(
            function, grid, one, one, block, one, one, none, None, arguments, None
        )

    return launch


def spin(gpu, name="spin"):
    """As kernel(): one that runs for so many nanoseconds, or one that faults."""
    return kernel(gpu, name)
