import Foundation
import Reactors
import Synchronization

/// Requests from a tool, each on its own connection.
final class HTTPRequests: Sendable {
    private let reactor: Reactor
    /// A CA to trust besides (PEM); nil: the system's.
    private let caPath: String?
    /// By the server's address: a tool that sends a million requests makes one client.
    private let clients = Mutex<[String: Pinned<EdgeClient>]>([:])

    init(on reactor: Reactor, caPath: String?) {
        (self.reactor, self.caPath) = (reactor, caPath)
    }

    /// On the reactor's thread.
    private func client(of url: WebURL) throws(ReactorError) -> EdgeClient {
        let name = "\(url.isTLS ? "https" : "http")://\(url.host):\(url.port)"
        if let known = clients.withLock({ $0[name] }) { return known.value }
        var settings = url.settings
        settings.caPath = caPath
        let client = try EdgeClient(on: reactor, settings: settings)
        let pinned = Pinned(client, to: reactor)
        clients.withLock { $0[name] = pinned }
        return client
    }

    /// - Parameter streamed: receives the body of a 2xx answer in pieces, on the reactor's thread; nil: the answer has
    ///   it.
    func send(
        _ method: String, _ url: WebURL, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        streamed: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) async throws -> HTTPClientAnswer {
        switch await exchange(method, url, headers: headers, body: body, streamed: streamed) {
        case .success(let answer): return answer
        case .failure(let failure): throw url.unreachable(failure.reason)
        }
    }

    /// The same for a caller that reports failures itself.
    func exchange(
        _ method: String, _ url: WebURL, headers: [(name: String, value: String)], body: [UInt8]?,
        streamed: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) async -> Result<HTTPClientAnswer, HTTPClientFailure> {
        await withCheckedContinuation { continuation in
            reactor.submit { [self] in
                do throws(ReactorError) {
                    try client(of: url)
                        .request(method, path: url.pathAndQuery, headers: headers, body: body, streamed: streamed) {
                            continuation.resume(returning: $0)
                        }
                } catch {
                    continuation.resume(returning: .failure(HTTPClientFailure(reason: "\(error)")))
                }
            }
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
