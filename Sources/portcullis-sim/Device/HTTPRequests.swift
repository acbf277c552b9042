import Foundation
import Reactors

/// Requests from a tool, each on its own connection.
struct HTTPRequests: Sendable {
    private let reactor: Reactor
    /// A CA to trust besides (PEM); nil: the system's.
    private let caPath: String?

    init(on reactor: Reactor, caPath: String?) {
        (self.reactor, self.caPath) = (reactor, caPath)
    }

    /// - Parameter streamed: receives the body of a 2xx answer in pieces, on the reactor's thread; nil: the answer has it.
    func send(
        _ method: String, _ url: WebURL, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        streamed: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) async throws -> HTTPClientAnswer {
        var settings = url.settings
        settings.caPath = caPath
        let result = await withCheckedContinuation { continuation in
            reactor.submit { [reactor, settings] in
                do throws(ReactorError) {
                    try EdgeClient(on: reactor, settings: settings)
                        .request(method, path: url.pathAndQuery, headers: headers, body: body, streamed: streamed) {
                            continuation.resume(returning: $0)
                        }
                } catch {
                    continuation.resume(returning: .failure(HTTPClientFailure(reason: "\(error)")))
                }
            }
        }
        switch result {
        case .success(let answer): return answer
        case .failure(let failure): throw url.unreachable(failure.reason)
        }
    }
}

/// An `http` or `https` URL, taken apart.
struct WebURL: Sendable {
    /// As it was given, without a fragment.
    let text: String
    let host: String
    let port: UInt16
    let isTLS: Bool
    let pathAndQuery: String

    init?(_ text: String) {
        let text = String(text.prefix { $0 != "#" })
        guard let url = URL(string: text), let host = url.host, !host.isEmpty,
            let scheme = url.scheme, ["http", "https"].contains(scheme)
        else { return nil }
        let rest = text.dropFirst(scheme.count + 3)
        let path = rest.firstIndex { $0 == "/" || $0 == "?" }.map { String(rest[$0...]) } ?? "/"
        self.text = text
        self.host = host
        isTLS = scheme == "https"
        port = UInt16(clamping: url.port ?? (isTLS ? 443 : 80))
        pathAndQuery = path.hasPrefix("/") ? path : "/" + path
    }

    /// Scheme, host and port.
    var origin: String { "\(isTLS ? "https" : "http")://\(host.lowercased()):\(port)" }

    var settings: EdgeClientSettings { EdgeClientSettings(host: host, port: port, isTLS: isTLS) }

    /// - Parameter path: with a slash in front. The path of the URL itself is kept: a gateway may serve below one.
    func appending(_ path: String) -> WebURL? {
        let base = text.prefix { $0 != "?" }
        return WebURL((base.hasSuffix("/") ? base.dropLast() : base) + path)
    }

    /// There was no answer.
    ///
    /// - Parameter reason: libwebsockets' own words, kept for experts.
    func unreachable(_ reason: String) -> any Error {
        let speech = isTLS ? "TLS, with a certificate by --ca" : "plain HTTP"
        let reason = reason.trimmingCharacters(in: .whitespaces)
        return SimOutput.failure(
            "no server answers at \(text) (\(reason)).", hint: "is it running there, and does it speak \(speech)?")
    }
}
