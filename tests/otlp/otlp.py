# SPDX-License-Identifier: Apache-2.0
"""OTLP's three requests, read strictly: every field known, of its wire type, no more than once where it
is single, strings in UTF-8, lengths that fit.  Written from the protocol's definition (1.11) and from
nothing of ours, so that a mistake of the writer is not made twice."""
import struct

U64, I64, S32, BOOL, F64, FIX64, SFIX64, FIX32, STR, BYTES, PACKED = \
    "u64 i64 s32 bool f64 fix64 sfix64 fix32 str bytes packed".split()
WIRE = {U64: 0, I64: 0, S32: 0, BOOL: 0, F64: 1, FIX64: 1, SFIX64: 1, FIX32: 5, STR: 2, BYTES: 2, PACKED: 2}

# message: { field number: (name, type or message, repeated) }
SCHEMA = {
    "AnyValue": {1: ("string", STR, 0), 2: ("bool", BOOL, 0), 3: ("int", I64, 0), 4: ("double", F64, 0),
                 5: ("array", "ArrayValue", 0), 6: ("kvlist", "KeyValueList", 0), 7: ("bytes", BYTES, 0)},
    "ArrayValue": {1: ("values", "AnyValue", 1)},
    "KeyValueList": {1: ("values", "KeyValue", 1)},
    "KeyValue": {1: ("key", STR, 0), 2: ("value", "AnyValue", 0)},
    "Scope": {1: ("name", STR, 0), 2: ("version", STR, 0), 3: ("attributes", "KeyValue", 1), 4: ("dropped", U64, 0)},
    "Resource": {1: ("attributes", "KeyValue", 1), 2: ("dropped", U64, 0)},
    "traces": {1: ("resources", "ResourceSpans", 1)},
    "ResourceSpans": {1: ("resource", "Resource", 0), 2: ("scopes", "ScopeSpans", 1), 3: ("schema_url", STR, 0)},
    "ScopeSpans": {1: ("scope", "Scope", 0), 2: ("spans", "Span", 1), 3: ("schema_url", STR, 0)},
    "Span": {1: ("trace_id", BYTES, 0), 2: ("span_id", BYTES, 0), 3: ("trace_state", STR, 0), 4: ("parent_span_id", BYTES, 0),
             5: ("name", STR, 0), 6: ("kind", U64, 0), 7: ("start", FIX64, 0), 8: ("end", FIX64, 0),
             9: ("attributes", "KeyValue", 1), 13: ("links", "Link", 1), 15: ("status", "Status", 0), 16: ("flags", FIX32, 0)},
    "Link": {1: ("trace_id", BYTES, 0), 2: ("span_id", BYTES, 0), 6: ("flags", FIX32, 0)},
    "Status": {2: ("message", STR, 0), 3: ("code", U64, 0)},
    "metrics": {1: ("resources", "ResourceMetrics", 1)},
    "ResourceMetrics": {1: ("resource", "Resource", 0), 2: ("scopes", "ScopeMetrics", 1), 3: ("schema_url", STR, 0)},
    "ScopeMetrics": {1: ("scope", "Scope", 0), 2: ("metrics", "Metric", 1), 3: ("schema_url", STR, 0)},
    "Metric": {1: ("name", STR, 0), 2: ("description", STR, 0), 3: ("unit", STR, 0), 5: ("gauge", "Gauge", 0),
               7: ("sum", "Sum", 0), 10: ("exponential_histogram", "ExponentialHistogram", 0)},
    "Gauge": {1: ("points", "NumberDataPoint", 1)},
    "Sum": {1: ("points", "NumberDataPoint", 1), 2: ("temporality", U64, 0), 3: ("monotonic", BOOL, 0)},
    "NumberDataPoint": {7: ("attributes", "KeyValue", 1), 2: ("start", FIX64, 0), 3: ("time", FIX64, 0), 4: ("double", F64, 0),
                        6: ("int", SFIX64, 0), 8: ("flags", U64, 0)},
    "ExponentialHistogram": {1: ("points", "ExponentialHistogramDataPoint", 1), 2: ("temporality", U64, 0)},
    "ExponentialHistogramDataPoint": {1: ("attributes", "KeyValue", 1), 2: ("start", FIX64, 0), 3: ("time", FIX64, 0),
                                      4: ("count", FIX64, 0), 5: ("sum", F64, 0), 6: ("scale", S32, 0), 7: ("zero_count", FIX64, 0),
                                      8: ("positive", "Buckets", 0), 9: ("negative", "Buckets", 0), 10: ("flags", U64, 0)},
    "Buckets": {1: ("offset", S32, 0), 2: ("counts", PACKED, 0)},
    "logs": {1: ("resources", "ResourceLogs", 1)},
    "ResourceLogs": {1: ("resource", "Resource", 0), 2: ("scopes", "ScopeLogs", 1), 3: ("schema_url", STR, 0)},
    "ScopeLogs": {1: ("scope", "Scope", 0), 2: ("records", "LogRecord", 1), 3: ("schema_url", STR, 0)},
    "LogRecord": {1: ("time", FIX64, 0), 11: ("observed_time", FIX64, 0), 2: ("severity", U64, 0), 3: ("severity_text", STR, 0),
                  5: ("body", "AnyValue", 0), 6: ("attributes", "KeyValue", 1), 8: ("flags", FIX32, 0), 9: ("trace_id", BYTES, 0),
                  10: ("span_id", BYTES, 0), 12: ("event_name", STR, 0)},
}


class Wrong(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Wrong("a number that does not end, at byte %d" % at)
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def number(kind, value):
    if kind == I64 and value >> 63:
        return value - (1 << 64)
    if kind == S32:
        return (value >> 1) ^ -(value & 1)
    if kind == BOOL:
        return bool(value)
    return value


def fixed(kind, raw):
    return struct.unpack({F64: "<d", FIX64: "<Q", SFIX64: "<q", FIX32: "<I"}[kind], raw)[0]


def packed(raw):
    values, at = [], 0
    while at < len(raw):
        v, at = varint(raw, at)
        values.append(v)
    return values


def decode(message, data):
    """A dict of the message's fields. Raises Wrong for bytes that are no such message."""
    fields, out, at = SCHEMA[message], {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag >> 3 not in fields:
            raise Wrong("%s has no field %d" % (message, tag >> 3))
        name, kind, repeated = fields[tag >> 3]
        if tag & 7 != WIRE.get(kind, 2):
            raise Wrong("%s.%s has wire type %d" % (message, name, tag & 7))
        if tag & 7 == 0:
            value, at = varint(data, at)
            value = number(kind, value)
        else:
            if tag & 7 == 2:
                size, at = varint(data, at)
            else:
                size = 8 if tag & 7 == 1 else 4
            if size > len(data) - at:
                raise Wrong("%s.%s is longer than its message" % (message, name))
            raw, at = data[at:at + size], at + size
            if kind == STR:
                try:
                    value = raw.decode("utf-8")
                except UnicodeDecodeError:
                    raise Wrong("%s.%s is not UTF-8: %r" % (message, name, raw))
            elif kind == BYTES:
                value = raw.hex()
            elif kind == PACKED:
                value = packed(raw)
            elif kind in WIRE:
                value = fixed(kind, raw)
            else:
                value = decode(kind, raw)
        if repeated:
            out.setdefault(name, []).append(value)
        elif name in out:
            raise Wrong("%s.%s is there twice" % (message, name))
        else:
            out[name] = value
    return out


def plain(value):
    """An AnyValue as Python has it."""
    if "array" in value:
        return [plain(v) for v in value["array"].get("values", [])]
    return next(iter(value.values())) if value else None


def attributes(thing):
    found = {}
    for kv in thing.get("attributes", []):
        if kv["key"] in found:
            raise Wrong("the attribute %s is there twice" % kv["key"])
        found[kv["key"]] = plain(kv["value"])
    return found


def spans(request):
    for r in request.get("resources", []):
        for s in r["scopes"]:
            for span in s["spans"]:
                yield attributes(r["resource"]), span


def log_records(request):
    for r in request.get("resources", []):
        for s in r["scopes"]:
            for record in s["records"]:
                yield attributes(r["resource"]), record


def points(request):
    """metric, kind, point"""
    for r in request.get("resources", []):
        for s in r["scopes"]:
            for m in s["metrics"]:
                for kind in ("gauge", "sum", "exponential_histogram"):
                    for p in m.get(kind, {}).get("points", []):
                        yield m, kind, p
