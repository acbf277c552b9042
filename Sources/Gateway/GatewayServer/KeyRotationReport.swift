import Admission
import FoundationEssentials
import Logging
import Observability
import Relay
import Settings

extension Gateway {
    /// Adds a signing key if one is due. It waits for the disk.
    ///
    /// - Returns: why it couldn't; nil otherwise.
    func rotateIfDue() -> SigningKeyError? {
        guard let tokens = state.tokens else { return nil }
        do throws(SigningKeyError) {
            try tokens.rotateIfDue(current.now.live.tokens, at: .now)
            return nil
        } catch { return error }
    }
}

/// Logs that signing keys can't be rotated, once until they can. The old key signs meanwhile.
struct KeyRotationReport {
    private var isFailing = false

    mutating func note(_ error: SigningKeyError?, in logger: Logger) {
        defer { isFailing = error != nil }
        guard let error, !isFailing else { return }
        logger.error("signing keys can't be rotated", metadata: [LogKeys.error: "\(error)"])
    }
}
