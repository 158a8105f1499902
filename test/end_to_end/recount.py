"""Recounts a report: every current value must equal what its segments, blocks and sites add up to."""
# SPDX-License-Identifier: Apache-2.0
import functools
import sys

from harness import SOURCE

LIVE, PENDING, FREE = "active_allocated", "active_pending_free", "inactive"


@functools.cache
def validator():
    import jsonschema

    sys.path.insert(0, str(SOURCE / "test/reporter"))
    import report_schema

    return jsonschema.Draft7Validator(report_schema.written())


def device_counts(segments):
    """The current values of memory_stats, by name and pool."""
    names = (
        "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
        "active_bytes", "inactive_split_bytes", "requested_bytes",
    )  # fmt: skip
    counts = {f"{name}.{pool}": 0 for name in names for pool in ("all", "small_pool", "large_pool")}

    def add(segment, name, amount):
        counts[f"{name}.all"] += amount
        counts[f"{name}.{segment['segment_type']}_pool"] += amount

    for segment in segments:
        add(segment, "segment", 1)
        add(segment, "reserved_bytes", segment["total_size"])
        for block in segment["blocks"]:
            if block["state"] == LIVE:
                add(segment, "allocation", 1)
                add(segment, "allocated_bytes", block["size"])
            if block["state"] != FREE:
                add(segment, "active", 1)
                add(segment, "active_bytes", block["size"])
                add(segment, "requested_bytes", block["requested_size"])
            elif len(segment["blocks"]) > 1:
                add(segment, "inactive_split", 1)
                add(segment, "inactive_split_bytes", block["size"])
    return counts


def host_counts(segments):
    blocks = [block for segment in segments for block in segment["blocks"]]
    live = [block["size"] for block in blocks if block["state"] == LIVE]
    active = [block["size"] for block in blocks if block["state"] != FREE]
    return {
        "allocated": len(live),
        "allocated_bytes": sum(live),
        "active_requests": len(active),
        "active_bytes": sum(active),
        "segment": len(segments),
        "reserved_bytes": sum(segment["total_size"] for segment in segments),
    }


def check_tiling(case, segments):
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            case.assertEqual(address, block["address"], "blocks tile their segment")
            address += block["size"]
        case.assertEqual(segment["address"] + segment["total_size"], address)
        live = sum(b["size"] for b in segment["blocks"] if b["state"] == LIVE)
        active = sum(b["size"] for b in segment["blocks"] if b["state"] != FREE)
        case.assertEqual((segment["allocated_size"], segment["active_size"]), (live, active))


def check_counts(case, stats, counts):
    for name, value in counts.items():
        if stats or value:  # a place never used has no statistics
            case.assertEqual(value, stats.get(f"{name}.current"), f"{name}.current")


def live_bytes(report):
    """Requested bytes of all live blocks."""
    segments = [segment for device in report["devices"] for segment in device["segments"]]
    segments += report["host"]["segments"] + report["host"]["registrations"]
    return sum(
        block["requested_size"]
        for segment in segments
        for block in segment["blocks"]
        if block["state"] != FREE
    )


def check(case, report):
    """Fails the case when the report disagrees with its schema or with itself."""
    errors = sorted(validator().iter_errors(report), key=lambda error: error.path)
    case.assertEqual([], [f"{error.json_path}: {error.message}" for error in errors])
    check_sums(case, report)


def check_sums(case, report):
    """The second half of check(), which needs no package."""
    for device in report["devices"]:
        check_tiling(case, device["segments"])
        plain = [segment for segment in device["segments"] if segment["kind"] == "device"]
        check_counts(case, device["memory_stats"], device_counts(plain))
    host = report["host"]
    check_tiling(case, host["segments"] + host["registrations"])
    check_counts(case, host["memory_stats"], host_counts(host["segments"] + host["registrations"]))

    requested = sum(
        device["memory_stats"].get("requested_bytes.all.current", 0) for device in report["devices"]
    )
    in_ledger = sum(row["current_bytes"] for row in report["ledger"] if row["kind"] == "device")
    case.assertEqual(requested, in_ledger, "the ledger's device bytes")
    case.assertEqual(live_bytes(report), sum(row["current_bytes"] for row in report["kinds"]))
    case.assertEqual(live_bytes(report), sum(site["live_bytes"] for site in report["sites"]))
    case.assertEqual(0, report["unrecorded_calls"])
