"""Which frameworks check_frameworks.py installs, what of each runs, and what is compared."""
# SPDX-License-Identifier: Apache-2.0
import dataclasses

SEGMENTS = "memory_stats (36 keys); each segment by address and size"


@dataclasses.dataclass
class Script:
    file: str  # in frameworks/
    what: str
    settings: str = ""  # of the simulated device; {work} is a folder of the run
    variables: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Framework:
    name: str
    folder: str  # of its own, in which several may be that share packages
    packages: list  # as pip takes them
    gigabytes: float  # that pip fetches, as of 2026-11
    version_of: str  # the package whose version the table tells
    compared: str
    scripts: list
    device_file: bool = False  # it looks for a file of NVIDIA's kernel module before it asks the driver


TORCH = [
    Script("torch_layers", "layers, attention, AMP, AdamW, checkpoints"),
    Script("torch_recurrent", "LSTM, GRU, RNN"),
    Script("torch_mathematics", "FFT, linear algebra, sparse matrices"),
    Script("torch_graph", "CUDA graphs"),
    Script("torch_data", "DataLoader, pinned memory, snapshot"),
    Script("torch_data", "expandable segments", variables={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
    Script("torch_distributed", "DDP and FSDP, one process"),
    Script("torch_distributed", "DDP and FSDP, two processes", settings="devices=2,shared={work}/device"),
    Script("torch_compiled", "torch.compile"),
]

FRAMEWORKS = [
    Framework("PyTorch, CUDA 12", "torch28", ["torch==2.8.0", "numpy", "setuptools"], 2.9, "torch", SEGMENTS, TORCH),
    Framework("PyTorch", "torch", ["torch", "numpy", "setuptools"], 2.6, "torch", SEGMENTS, TORCH),
    Framework("transformers", "torch28", ["torch==2.8.0", "numpy", "transformers", "accelerate"], 2.9, "transformers", SEGMENTS,
              [Script("transformers_tiny", "a tiny Llama: Trainer, generate")]),
    Framework("CuPy", "cupy", ["cupy-cuda12x[ctk]", "numpy"], 1.6, "cupy-cuda12x", "pools; what they take, by address and size",
              [Script("cupy_arrays", "arrays, libraries, kernels, pools")]),
    Framework("Numba", "numba", ["numba-cuda[cu12]", "numpy"], 0.4, "numba-cuda", "total; each array by address and size",
              [Script("numba_arrays", "arrays, kernels, pinned and managed memory")]),
    Framework("JAX", "jax", ["jax[cuda12]"], 2.9, "jax", "live arrays; that they lie inside allocations; the share that it takes at once",
              [Script("jax_arrays", "gradients, convolution, SVD, FFT", variables={"JAX_PLATFORMS": "cuda"}),
               Script("jax_arrays", "the same as memory is needed",
                      variables={"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})], device_file=True),
    Framework("TensorFlow", "tensorflow", ["tensorflow[and-cuda]"], 2.6, "tensorflow", "the memory that it takes at once",
              [Script("tensorflow_model", "a Keras model, SVD, FFT", variables={"TF_CPP_MIN_LOG_LEVEL": "3"})]),
    Framework("ONNX Runtime", "onnx", ["onnxruntime-gpu", "onnx", "numpy"], 0.3, "onnxruntime-gpu",
              "that a tensor lies inside an allocation", [Script("onnx_session", "a session, bound inputs and outputs")]),
    Framework("RMM", "rmm", ["rmm-cu12", "numpy"], 0.1, "rmm-cu12", "statistics; the log of what its pool takes",
              [Script("rmm_pools", "pools, statistics, other resources")]),
]  # fmt: skip
