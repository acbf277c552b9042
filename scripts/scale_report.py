"""Prints what `bench-fleet --scale` has measured: the files figures, results, sizes and statements of the folder that it is given."""
import collections, json, re, statistics, sys

folder = sys.argv[1]
lines = lambda name: [line.rstrip("\n").split("|", 4) for line in open(f"{folder}/{name}")]

figures = collections.defaultdict(lambda: {"small": [], "large": []})
for store, figure, value in lines("figures"):
    figures[figure][store].append(float(value))
for entry in map(json.loads, open(f"{folder}/results")):
    store, row = entry["row"].split(", ")
    for figure, value in (("median, ms", entry["p50"] / 1000), ("99 %, ms", entry["p99"] / 1000), ("a second", entry["rate"]), ("database's CPU, µs", entry["database"])):
        figures[f"connects, {row}, {figure}"][store].append(value)

print("\n| | small | large | large to small |\n|---|---:|---:|---:|")
for figure, of in figures.items():
    small, large = statistics.median(of["small"]), statistics.median(of["large"])
    ratios = sorted(b / a for a, b in zip(of["small"], of["large"]) if a > 0 and b > 0)
    ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})" if ratios else "–"
    print(f"| {figure} | {small:.4g} | {large:.4g} | {ratio} |")

print("\n| Table of large | rows | bytes a row | its indexes, bytes a row |\n|---|---:|---:|---:|")
for store, table, rows, size, indexes in lines("sizes"):
    if store == "large":
        print(f"| {table} | {int(rows):,} | {int(size) / int(rows):.0f} | {int(indexes) / int(rows):.0f} |")

KINDS = (("beat", r"portcullis\.beat"), ("present", "incarnation_began"), ("changes", "forgotten_through"), ("take_evictions", r"o\.evict"),
    ("begin_upkeep", "begin_upkeep"), ("forget_marks", "forget_marks"), ("forget_changes", "forget_changes"),
    ("forget_holdings", r"min\(h\.gateway"), ("forget_lost_sessions", r"min\(s\.gateway"))
calls = collections.defaultdict(lambda: [0.0, 0.0, 0.0])
for store, seconds, count, time, query in lines("statements"):
    named = re.search(r"portcullis\.(\w+)", query)
    kind = next((name for name, pattern in KINDS if re.search(pattern, query)), named[1] if named else "others")
    total = calls[kind, store]
    total[0] += int(count)
    total[1] += float(time)
lengths = {store: sum({(s, t): float(t) for s, t, *_ in lines("statements") if s == store}.values()) for store in ("small", "large")}
print("\n| Idle: statement | a second, large | mean time, small | large |\n|---|---:|---:|---:|")
for kind in dict.fromkeys([name for name, _ in KINDS] + sorted(kind for kind, _ in calls)):
    mean = {store: calls[kind, store][1] / max(calls[kind, store][0], 1) * 1000 for store in lengths}
    if calls[kind, "large"][0]:
        print(f"| {kind} | {calls[kind, 'large'][0] / lengths['large']:.2f} | {mean['small']:.0f} µs | {mean['large']:.0f} µs |")
