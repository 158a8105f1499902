"""What PyTorch asks of cuFFT, cuSOLVER, cuSPARSE and cuBLAS besides layers."""
# SPDX-License-Identifier: Apache-2.0
import torch
import torch_figures


def main():
    torch_figures.begin()
    matrix = torch.eye(64, device="cuda") * 2
    print(torch.fft.fft2(matrix).shape, torch.fft.irfft(torch.fft.rfft(matrix)).shape)
    print(torch.stft(torch.zeros(4096, device="cuda"), 256, return_complex=True).shape)
    for name in ("cholesky", "qr", "inv", "svdvals", "eigvalsh", "lu", "det"):
        answer = getattr(torch.linalg, name)(matrix)
        parts = answer if isinstance(answer, tuple) else (answer,)
        print(name, [tuple(part.shape) for part in parts])
    print(torch.linalg.solve(matrix, torch.ones(64, device="cuda")).shape)
    sparse = torch.eye(32).to_sparse_csr().cuda()
    print((sparse @ matrix[:32, :8]).shape, torch.sparse.mm(sparse, sparse).shape)
    batch = torch.ones(8, 16, 16, device="cuda")
    print(torch.bmm(batch, batch).shape, torch.baddbmm(batch, batch, batch).shape, torch.einsum("bij,bkj->bik", batch, batch).shape)
    half = torch.ones(64, 64, device="cuda", dtype=torch.bfloat16)
    print(torch.addmm(half[0], half, half).shape, torch._int_mm(half.char(), half.char()).dtype)
    print(torch.multinomial(torch.ones(10, device="cuda"), 3, replacement=True).shape, torch.sort(matrix).values.shape)
    torch_figures.end()


if __name__ == "__main__":
    main()
