/// Reads refusals: the gate's own in each dialect, those of services, and whatever a proxy in between has written.
enum RefusalReader {
    /// - Parameters:
    ///   - header: the value of a field with this name in lower case.
    ///   - body: may be missing, as with upgrades on Apple's systems.
    static func refusal(status: Int, header: (String) -> String?, body: [UInt8], maximumBytes: Int) -> Refusal {
        let members = try? JSONMembers(body, maximumBytes: maximumBytes)
        func text(_ names: StaticString...) -> String? { names.lazy.compactMap { members?.string($0) }.first }
        let error = members?.string("error")
        let code =
            text("code").flatMap(code) ?? header("x-refusal-code").flatMap(code)
            ?? header("www-authenticate").flatMap(authenticationError) ?? error.flatMap(code) ?? ""
        let message = text("error_description", "message") ?? error ?? plainText(body, isJSON: members != nil)
        let requestId = text("requestId").flatMap(identifier) ?? header("x-refusal-request-id").flatMap(identifier)
        return Refusal(
            status: status, code: code, message: harmless(message), requestId: requestId,
            retryAfter: header("retry-after").flatMap(seconds))
    }

    private static func plainText(_ body: [UInt8], isJSON: Bool) -> String {
        isJSON ? "" : String(decoding: body.prefix(Refusal.maximumTextBytes), as: UTF8.self)
    }

    /// A word that apps can branch on.
    private static func code(_ text: String) -> String? {
        let isCode =
            (1...Refusal.maximumCodeBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIDigit || (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
        return isCode ? text : nil
    }

    /// `error="…"` of a challenge (RFC 6750 section 3, RFC 9449 section 7.1).
    private static func authenticationError(_ text: String) -> String? {
        let parts = text.utf8.prefix(2_048).split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        guard let index = parts.firstIndex(where: { $0.suffix(6).map(\.lowercasedASCII).elementsEqual("error=".utf8) }),
            index + 1 < parts.endIndex
        else { return nil }
        return code(String(decoding: Array(parts[index + 1]), as: UTF8.self))
    }

    private static func identifier(_ text: String) -> String? {
        (1...Refusal.maximumCodeBytes).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisibleASCII) ? text : nil
    }

    /// Seconds. The form with a date isn't used by the gate.
    private static func seconds(_ text: String) -> Double? {
        text.utf8.decimal(upTo: 999_999_999).map { min(Double($0), Backoff.longestRetryAfter) }
    }

    /// The longest word of a text that is kept: a token, an assertion or a nonce that a server repeats is longer.
    static let longestWord = 40

    /// A text of the server, short, without control characters, and without anything that looks like a secret.
    static func harmless(_ text: String) -> String {
        let words = text.utf8.prefix(Refusal.maximumTextBytes).split { $0 <= 0x20 || $0 == 0x7F }
        let kept = words.map { $0.count > longestWord ? "[…]" : String(decoding: $0, as: UTF8.self) }
        return kept.joined(separator: " ")
    }
}
