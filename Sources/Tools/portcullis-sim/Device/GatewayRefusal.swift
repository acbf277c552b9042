import ArgumentParser
import Foundation
import Glibc
import Reactors

/// Failures between the tool and the gateway, in words for the tool's user.
enum GatewayRefusal {
    /// A refused request: the body has the code and a text.
    static func failure(status: Int, body: [UInt8]) -> ExitCode {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let fields = try? decoder.decode(Body.self, from: Data(body))
        let text = fields?.errorDescription ?? fields?.error ?? String(decoding: body.prefix(500), as: UTF8.self)
        return failure(status: status, code: fields?.code, text: text, requestID: fields?.requestId)
    }

    private struct Body: Decodable {
        let error, errorDescription, code, requestId: String?
    }

    /// - Parameters:
    ///   - code: the gateway's stable code; nil if the answer had none.
    ///   - requestID: the same.
    static func failure(status: Int, code: String?, text: String?, requestID: String?) -> ExitCode {
        SimOutput.failure(
            words(status: status, code: code, text: text, requestID: requestID), hint: code.flatMap(hint(for:)))
    }

    static func words(status: Int, code: String?, text: String?, requestID: String?) -> String {
        let words = ["the gateway refused with \(status)", code].compactMap { $0 }.joined(separator: " ")
        let reason = text.map { ": \($0)" } ?? (code == nil ? ": is it a gateway?" : "")
        // Some texts end with it.
        guard let requestID, text?.contains(requestID) != true else { return words + reason }
        return words + reason + " (request \(requestID))"
    }

    static func hint(for code: String) -> String? {
        switch code {
        case "app_auth_required": "give --device, or --certificate and --key."
        case "unknown_key":
            "register the device: portcullis-sim device register. The gateway must still trust the authority's root."
        case "key_revoked": "an operator has revoked this key: portcullis keys restore takes that back."
        case "invalid_client_certificate": "the certificate must be issued by the authority of MTLS_CLIENT_CA_PATH."
        case "attestation_rejected":
            "APPATTEST_ROOT_CA_PATH must be this authority's root, and the team and bundle must match the gateway's."
        case "app_attest_not_configured": "set APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID for the gateway."
        case "attestation_failed":
            "give --authority, so that the device can register. The gateway has to trust its root."
        case "invalid_token": "a development token has to be one of portcullis dev-tokens, and may have expired."
        case "sign_up_refused": "ACCOUNT_SIGN_UP says how an account begins: --device, --ticket or --open."
        case "unknown_credential": "the account or the passkey is gone: portcullis-sim account sign-up makes new ones."
        case "clock_skew": "this machine's clock and the gateway's differ by more than 30 s."
        case "rate_limited", "at_capacity", "draining": "try again later."
        default: nil
        }
    }
}

extension DeviceCommand.GatewayOptions {
    /// The upgrade got no 101.
    func failure(of failure: WebSocketClientFailure) throws -> any Error {
        guard let status = failure.status else { return try url().unreachable(failure.reason) }
        return GatewayRefusal.failure(status: status, code: failure.code, text: nil, requestID: failure.requestID)
    }
}

/// A file named by an option.
enum ReadableFile {
    /// - Returns: the path of a readable file; nil for nil.
    static func check(_ path: String?, of option: String) throws -> String? {
        guard let path else { return nil }
        guard access(path, R_OK) == 0 else {
            throw SimOutput.failure("\(option) \(path) can't be read: \(String(cString: strerror(errno))).")
        }
        return path
    }
}
