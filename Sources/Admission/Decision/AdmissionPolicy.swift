package import KeyStore

/// One rule of the gate.
///
/// A refusal is an outcome. A policy throws only when the store can't answer, never because of what a client sent.
package protocol AdmissionPolicy: Sendable {
    func evaluate(_ request: AdmissionRequest) throws(KeyRegistryError) -> PolicyOutcome
}

package enum PolicyOutcome: Sendable {
    case admitted(Principal)
    case refused(Refusal)
    /// A secret that everybody has to show, which admits nobody. The next policy decides.
    case showed(SharedSecret)
    /// The next policy decides. A request about which none has an opinion is refused.
    case noOpinion

    static func refused(_ answer: RefusalAnswer, _ detail: String, retryAfter: Int? = nil) -> PolicyOutcome {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter))
    }
}
