import Glibc
import Testing

@testable import Observability

/// Whether two descriptors lead to the same place.
struct StandardStreamTests {
    private func pair(_ body: (CInt, CInt) -> Void) {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        body(ends[0], ends[1])
        for end in ends { close(end) }
    }

    @Test func `a duplicated descriptor is the same stream, and another pipe isn't`() {
        pair { _, first in
            let copy = dup(first)
            #expect(LineOutput.isSame(first, copy))
            close(copy)
            pair { _, second in #expect(!LineOutput.isSame(first, second)) }
        }
    }

    @Test func `a closed descriptor equals no stream`() {
        #expect(!LineOutput.isSame(-1, -1))
    }
}
