import Testing

@testable import Reactors

struct LookupBudgetTests {
    @Test func `operators' names aren't counted`() {
        var budget = LookupBudget(maximum: 1)
        for _ in 0..<100 { #expect(budget.begin(for: .operators) == nil) }
        #expect(budget.begin(for: .client(["a"])) == nil)
        #expect(budget.begin(for: .operators) == nil)
        budget.end(for: .operators)
        #expect(budget.begin(for: .client(["b"])) == .exhausted)
    }

    @Test func `a client has one lookup at a time, by any of its names`() {
        var budget = LookupBudget(maximum: 10)
        #expect(budget.begin(for: .client(["key", "address"])) == nil)
        for names in [["key"], ["address"], ["key", "address"], ["key", "elsewhere"], ["another", "address"]] {
            #expect(budget.begin(for: .client(names)) == .clientIsBusy)
        }
        #expect(budget.begin(for: .client(["another", "elsewhere"])) == nil)
        budget.end(for: .client(["key", "address"]))
        #expect(budget.begin(for: .client(["another", "address"])) == .clientIsBusy)
        #expect(budget.begin(for: .client(["key", "address"])) == nil)
    }

    @Test(arguments: [1, 2, 6]) func `all clients together have a maximum number of lookups`(maximum: Int) {
        var budget = LookupBudget(maximum: maximum)
        for client in 0..<maximum { #expect(budget.begin(for: .client(["\(client)"])) == nil) }
        #expect(budget.begin(for: .client(["more"])) == .exhausted)
        // Refused lookups don't count.
        budget.end(for: .client(["0"]))
        #expect(budget.begin(for: .client(["more"])) == nil)
        #expect(budget.begin(for: .client(["0"])) == .exhausted)
    }

    @Test func `operators have threads that clients can't occupy`() {
        #expect(LookupThreads.forClients < LookupThreads.count / 2)
    }
}
