"""A suite of pytest that limits the GPU memory of its tests."""

# SPDX-License-Identifier: Apache-2.0
import ctypes
import unittest

import pytest

MIB = 1 << 20
driver = ctypes.CDLL("libcuda.so.1")


def allocate(mib):
    block = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(mib * MIB)) == 0
    return block


def free(block):
    assert driver.cuMemFree_v2(block) == 0


@pytest.fixture(scope="session", autouse=True)
def model():
    """Older than every test, and in no test's new memory."""
    assert driver.cuInit(0) == 0
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    yield allocate(100)


@pytest.mark.limit_gpu_memory("24 MiB")
@pytest.mark.limit_gpu_leaks("0 B")
def test_within_limits():
    free(allocate(24))


@pytest.mark.limit_gpu_memory("24 MiB")
def test_too_large():
    free(allocate(25))


@pytest.mark.limit_gpu_leaks()
def test_leaks():
    allocate(3)


@pytest.mark.limit_gpu_leaks("3 MiB")
def test_may_leak():
    allocate(3)


@pytest.mark.limit_gpu_leaks()
def test_of_another_fault():
    allocate(1)
    assert "this" == "that"


@pytest.mark.limit_gpu_memory("2 MiB")
class TestClass:
    def test_of_class(self):
        free(allocate(3))

    @pytest.mark.limit_gpu_memory("3 MiB")
    def test_own_limit(self):
        free(allocate(3))


@pytest.mark.limit_gpu_memory("2 MiB")
class TestUnittest(unittest.TestCase):
    def test_of_unittest(self):
        free(allocate(3))


@pytest.mark.limit_gpu_memory("24 MB")
def test_wrong_size():
    pass


@pytest.mark.limit_gpu_memory(1, device=1)
def test_other_device():
    free(allocate(1))


@pytest.mark.parametrize("mib", list(range(30, 42)))
def test_unlimited(mib):
    free(allocate(mib))
