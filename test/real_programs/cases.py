"""What is run of each program, what of its output must be the same in every mode, and what it says
of its own memory."""
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import pathlib
import re
import subprocess

SOURCE = "testsrc=size=1280x720:rate=30:duration=1"
SMALL = "testsrc=size=320x180:rate=30:duration=1"
PITCH = 512  # of rows, on the simulated device, and what ffmpeg aligns its rows to


@dataclasses.dataclass
class Case:
    """`keep`: the parts of the output (both streams) that are compared, and shown to `says`. `says`
    gives a line for each number of the reports that disagrees with what the program printed."""

    name: str
    command: list
    keep: str
    says: object = lambda kept, seen: []
    settings: str = ""  # of the simulated device
    variables: dict = dataclasses.field(default_factory=dict)
    repeatable: bool = True  # allocates the same each time, whatever the time it takes


@dataclasses.dataclass
class Program:
    name: str
    tool: str  # what must be on the path
    version: list  # the command; the first number with a dot in its output
    cases: list
    why_not: object = lambda: ""  # what else is missing


def rounded(number, to):
    return -(-number // to) * to


def nv12(width, height):
    """Bytes of a frame of ffmpeg's: rows of PITCH, the second plane half as high."""
    return rounded(width, PITCH) * height * 3 // 2


def scaled(width, height):
    """The same of what scale_cuda makes, which has room for multiples of 32."""
    return nv12(rounded(width, 32), rounded(height, 32))


def gst_frame(kind, width, height):
    """GStreamer takes whole planes, two of them for NV12."""
    return rounded(width, PITCH) * height * 2 if kind == "NV12" else rounded(4 * width, PITCH) * height


def sizes_are(*wanted):
    """Every allocation that the trace has is one of these frames, and each of them is there."""

    def says(_, seen):
        found = set(seen.sizes)
        lines = [f"an allocation of {size} bytes is no frame" for size in sorted(found - set(wanted))]
        return lines + [f"no frame of {size} bytes" for size in sorted(set(wanted) - found)]

    return says


def caps_fit(kept, seen):
    """GStreamer's pads say what their frames look like; each is in memory of that size."""
    wanted = set()
    for text in kept:
        width, height = (int(re.search(rf"{word}=\(int\)(\d+)", text)[1]) for word in ("width", "height"))
        wanted.add(gst_frame("NV12" if "NV12" in text else "RGBA", width, height))
    return sizes_are(*wanted)(kept, seen) if wanted else ["no frame was in memory of the device"]


def peak_fits(kept, seen):
    """Cycles counts what it allocates, and prints MiB with two digits."""
    peaks = [float(number) for text in kept for number in re.findall(r"Peak:([\d.]+)M", text)]
    peak = seen.stats["requested_bytes.all.peak"] / 2**20
    return [] if abs(max(peaks, default=0) - peak) < 0.01 else [f"a peak of {peak:.2f} MiB, not {max(peaks)}"]


def model_fits(kept, seen):
    """The weights are in one allocation at least, and graphs were launched."""
    bytes_ = int(re.search(r"model (\d+) bytes", " ".join(kept))[1])
    peak = seen.stats["requested_bytes.all.peak"]
    lines = [] if peak >= bytes_ else [f"a peak of {peak}, less than the model's {bytes_} bytes"]
    return lines + ([] if seen.calls.get("cuGraphLaunch") else ["no graph was launched"])


def device_fits(kept, seen):
    """hashcat says how large the device is, in MiB."""
    sizes = {int(number) for text in kept for number in re.findall(r"/(\d+) MB", text)}
    total = seen.total_bytes >> 20
    return [] if sizes == {total} else [f"a device of {total} MiB, not {sizes}"]


def all_freed(kept, seen):
    left = seen.stats["requested_bytes.all.current"]
    return device_fits(kept, seen) + ([f"{left} bytes were not freed"] if left else [])


def ffmpeg(name, inputs, filters, says, settings=""):
    command = ["ffmpeg", "-hide_banner", "-nostats", "-init_hw_device", "cuda=c:0", "-filter_hw_device", "c"]
    for each in inputs:
        command += ["-f", "lavfi", "-i", each]
    outputs = re.findall(r"\[out\d\]", filters)
    command += ["-filter_complex", filters]
    for each in outputs:
        command += ["-map", each, "-f", "null", "-"]
    return Case(name, command, r"frame= *\d+|Stream #\d:\d: .*(?:nv12|rgb24).*?\d+x\d+", says, settings)


def gstreamer(name, *elements, keep=r"caps = video/x-raw\(memory:CUDAMemory\), .*|Got EOS|ERROR.*", says=None,
              repeatable=True):
    command = ["gst-launch-1.0", "-v"] + " ! ".join(elements).split()
    return Case(name, command, keep, says or caps_kept, repeatable=repeatable)


def caps_kept(kept, seen):
    return caps_fit([text for text in kept if text.startswith("caps")], seen)


def hashcat(name, *words, keep, says=device_fits, repeatable=True):
    command = ["hashcat", "-m", "0", "-d", "1", "--force", "--potfile-disable", "--session", "vramscope"]
    return Case(name, command + list(words), keep, says, repeatable=repeatable)


def programs(folder, modules):
    """All of them. `folder` has the stand-ins and made files, `modules` what npm installed."""
    cuda = "video/x-raw(memory:CUDAMemory)"
    frames = "videotestsrc num-buffers=30 ! video/x-raw,format=NV12,width=1280,height=720"
    to_null = ["cudadownload", "fakesink"]
    package = modules / "node-llama-cpp/package.json"
    here = pathlib.Path(__file__).resolve().parent
    return [
        Program("GStreamer", "gst-launch-1.0", ["gst-launch-1.0", "--version"], [
            gstreamer("upload and download", frames, "cudaupload", cuda, *to_null),
            gstreamer("scale", frames, "cudaupload", "cudascale", f"{cuda},width=640,height=360", *to_null),
            gstreamer("tee, convert and scale", frames, "cudaupload",
                      "tee name=t t. ! queue", "cudaconvert", f"{cuda},format=RGBA", *to_null[:1],
                      "fakesink t. ! queue", "cudascale", f"{cuda},width=320,height=180", *to_null,
                      # Which of its pads it describes before it ends is a matter of luck.
                      keep="Got EOS|ERROR.*", repeatable=False,
                      says=sizes_are(gst_frame("NV12", 1280, 720), gst_frame("RGBA", 1280, 720),
                                     gst_frame("NV12", 320, 180))),
        ]),
        Program("ffmpeg", "ffmpeg", ["ffmpeg", "-version"], [
            ffmpeg("upload and scale", [SOURCE],
                   "format=nv12,hwupload_cuda,scale_cuda=640:360,hwdownload,format=nv12[out0]",
                   sizes_are(nv12(1280, 720), scaled(640, 360))),
            ffmpeg("deinterlace", [SOURCE],
                   "format=nv12,hwupload_cuda,yadif_cuda,hwdownload,format=nv12[out0]",
                   sizes_are(nv12(1280, 720))),
            ffmpeg("overlay", [SOURCE, SMALL],
                   "[0:v]format=nv12,hwupload_cuda[a];[1:v]format=nv12,hwupload_cuda[b];"
                   "[a][b]overlay_cuda,hwdownload,format=nv12[out0]",
                   sizes_are(nv12(1280, 720), nv12(320, 180))),
            ffmpeg("two devices", [SOURCE],
                   "[0:v]format=nv12,split[a][b];[a]hwupload_cuda=device=0,hwdownload,format=nv12[out0];"
                   "[b]hwupload_cuda=device=1,scale_cuda=320:180,hwdownload,format=nv12[out1]",
                   sizes_are(nv12(1280, 720), scaled(320, 180)), settings="devices=2"),
        ]),
        Program("mpv", "mpv", ["mpv", "--version"], [
            Case("upload and scale",
                 ["mpv", "--no-config", "--vo=null", "--ao=null", "--msg-level=all=info",
                  "--vf=lavfi=[format=nv12,hwupload_cuda,scale_cuda=640:360,hwdownload,format=nv12]",
                  f"av://lavfi:{SOURCE}"],
                 r"VO: .*|Exiting.*", sizes_are(nv12(1280, 720), scaled(640, 360))),
        ]),
        Program("hashcat", "hashcat", ["hashcat", "--version"], [
            hashcat("devices (-I)", "-I", keep=r"Memory\.\w+\.+: \d+ MB$|Name\.+: Vram.*", says=lambda *_: []),
            hashcat("attack", "-a", "0", "--self-test-disable", "-n", "8", "-u", "16", "-T", "32",
                    folder / "hash", folder / "words",
                    keep=r"Status\.+: \w+|Recovered\.+: .*|Progress\.+: .*|Accel:.*|\d+/\d+ MB", says=all_freed),
            hashcat("benchmark", "-b", keep=r"Hash-Mode .*|/\d+ MB", repeatable=False),
        ]),
        Program("Blender", "blender", ["blender", "--version"], [
            Case("a frame of Cycles", ["blender", "-b", "--factory-startup", "-P", here / "render.py"],
                 r"device .*|Sample \d/\d|Finished|Error.*|(?<=, )Peak:[\d.]+M", peak_fits, settings="capacity=2GiB,context_bytes=0",
                 variables={"CUDA_BIN_PATH": str(folder / "bin")}),
        ]),
        Program("llama.cpp in node", "node", ["node", "-p", f"require('{package}').version"], [
            Case("16 tokens", ["node", here / "generate.mjs", modules, folder / "tiny.gguf"],
                 r"gpu .*|model .*|Error.*", model_fits, settings="capacity=2GiB,context_bytes=0"),
        ], why_not=lambda: missing_for_node(modules)),
    ]  # fmt: skip


def missing_for_node(modules):
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < 20:
        return f"it needs Node 20, and this is {version.strip()}"
    if not (modules / "node-llama-cpp").exists():
        return "node-llama-cpp is not installed (npm)"
    return ""
