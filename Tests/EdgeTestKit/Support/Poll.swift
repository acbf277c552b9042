/// Asks again and again, for what nothing announces: a figure of the kernel, or what another process finds out by
/// itself.
package enum Poll {
    /// Between two questions. Without it one test that waits would keep a core from all others.
    private static let pause = Duration.milliseconds(20)

    /// Returns the first answer that isn't nil.
    ///
    /// - Parameter what: completes the sentence "waited in vain for …".
    @discardableResult
    package static func until<Answer>(
        _ what: String, within limit: Duration = .seconds(20), _ ask: () async throws -> Answer?
    ) async throws -> Answer {
        let end = ContinuousClock.now.advanced(by: limit)
        while true {
            if let answer = try await ask() { return answer }
            guard ContinuousClock.now < end else { throw EdgeTestError("waited in vain for \(what) (\(limit))") }
            try await Task.sleep(for: pause)
        }
    }

    /// Returns when the answer is yes.
    package static func untilTrue(
        _ what: String, within limit: Duration = .seconds(20), _ isSo: () async throws -> Bool
    ) async throws {
        try await until(what, within: limit) { try await isSo() ? true : nil }
    }
}
