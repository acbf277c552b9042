import Testing

/// Everything that drives the real binary. One test at a time: each starts processes, and the machine is small.
@Suite(.serialized, .timeLimit(.minutes(5)))
enum EdgeTests {}
