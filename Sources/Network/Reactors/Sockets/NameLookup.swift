import CLibuv
import CLibwebsockets
import Glibc
import Synchronization
import WireText

/// An address from name resolution.
struct ResolvedAddress {
    private let storage: sockaddr_storage

    init(_ storage: sockaddr_storage) {
        self.storage = storage
    }

    init?(_ info: UnsafePointer<addrinfo>) {
        let length = Int(info.pointee.ai_addrlen)
        guard let address = info.pointee.ai_addr, length <= MemoryLayout<sockaddr_storage>.size else { return nil }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: length))
        }
        self.storage = storage
    }

    /// nil unless the host is a numeric address: `192.0.2.1`, `2001:db8::1`.
    init?(numeric host: String, port: UInt16) {
        var storage = sockaddr_storage()
        let isNumeric = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { uv_ip4_addr(host, Int32(port), $0) == 0 }
                || storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    uv_ip6_addr(host, Int32(port), $0) == 0
                }
        }
        guard isNumeric else { return nil }
        self.storage = storage
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// nil unless it is IPv4 or IPv6.
    var peer: SocketAddress? { SocketAddress(storage) }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}

/// Resolves one host to addresses. Reactor thread only.
///
/// Names are looked up on libuv's thread pool, so a reactor never waits for a name server. Numeric addresses need no
/// lookup.
final class NameLookup {
    typealias Outcome = Result<[ResolvedAddress], TCPError>

    static let maximumAddresses = 8

    /// One per process, like the thread pool.
    private static let budget = Mutex(LookupBudget(maximum: LookupThreads.forClients))

    private let chooser: HostChooser
    private var done: ((Outcome) -> Void)?
    /// Set while libuv owns the request.
    private var request: UnsafeMutablePointer<uv_getaddrinfo_t>?

    private init(for chooser: HostChooser, done: @escaping (Outcome) -> Void) {
        self.chooser = chooser
        self.done = done
    }

    /// - Parameter done: called once, on the reactor's thread and never before this returns, with up to
    ///   `maximumAddresses` addresses in the resolver's order; never after `cancel`.
    static func begin(
        host: String, port: UInt16, for chooser: HostChooser, on reactor: Reactor, done: @escaping (Outcome) -> Void
    ) -> NameLookup {
        let lookup = NameLookup(for: chooser, done: done)
        if let address = ResolvedAddress(numeric: host, port: port) {
            lookup.finishLater(.success([address]), on: reactor)
        } else if let refusal = budget.withLock({ $0.begin(for: chooser) }) {
            lookup.finishLater(.failure(.notResolved(refusal.rawValue)), on: reactor)
        } else {
            lookup.ask(host, port, on: reactor)
        }
        return lookup
    }

    /// Discards the result. A lookup that waits for a thread leaves the queue; one that is running keeps its thread and
    /// its share of the budget to the end.
    func cancel() {
        done = nil
        guard let request else { return }
        request.withMemoryRebound(to: uv_req_t.self, capacity: 1) { _ = uv_cancel($0) }
    }

    private func ask(_ host: String, _ port: UInt16, on reactor: Reactor) {
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        self.request = request
        request.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Taken back in `nameLookupDone`.
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let code = uv_getaddrinfo(reactor.loop, request, nameLookupDone, host, String(port), &hints)
        guard code != 0 else { return }
        Unmanaged<NameLookup>.fromOpaque(request.pointee.data).release()
        release(request)
        finishLater(.failure(.notResolved(Self.reason(code))), on: reactor)
    }

    static let noAddress = "the name has no address"

    /// libuv's code in the words of the log.
    static func reason(_ code: Int32) -> String {
        switch code {
        case UV_EAI_NONAME.rawValue, UV_EAI_NODATA.rawValue: noAddress
        case UV_EAI_AGAIN.rawValue: "the name server gave no answer"
        default: "the name can't be looked up: \(uvErrorText(code))"
        }
    }

    private func finishLater(_ outcome: Outcome, on reactor: Reactor) {
        reactor.submit { [lookup = Pinned((self, outcome), to: reactor)] in lookup.value.0.finish(lookup.value.1) }
    }

    private func finish(_ outcome: Outcome) {
        let done = done
        self.done = nil
        done?(outcome)
    }

    private func release(_ request: UnsafeMutablePointer<uv_getaddrinfo_t>) {
        self.request = nil
        request.deallocate()
        Self.budget.withLock { $0.end(for: chooser) }
    }

    fileprivate func ended(
        _ request: UnsafeMutablePointer<uv_getaddrinfo_t>, _ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?
    ) {
        defer { uv_freeaddrinfo(found) }
        release(request)
        guard status == 0 else { return finish(.failure(.notResolved(Self.reason(status)))) }
        var addresses: [ResolvedAddress] = []
        var next = UnsafePointer(found)
        while let info = next, addresses.count < Self.maximumAddresses {
            if let address = ResolvedAddress(info) { addresses.append(address) }
            next = UnsafePointer(info.pointee.ai_next)
        }
        finish(.success(addresses))
    }
}

private func nameLookupDone(
    _ request: UnsafeMutablePointer<uv_getaddrinfo_t>?, _ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?
) {
    guard let request else { return }
    Unmanaged<NameLookup>.fromOpaque(request.pointee.data).takeRetainedValue().ended(request, status, found)
}

extension SocketAddress {
    /// nil unless it is IPv4 or IPv6.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            let end = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in.self) }
            self.init(bytes: withUnsafeBytes(of: end.sin_addr) { [UInt8]($0) }, port: UInt16(bigEndian: end.sin_port))
        case AF_INET6:
            let end = withUnsafeBytes(of: &storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
            self.init(bytes: withUnsafeBytes(of: end.sin6_addr) { [UInt8]($0) }, port: UInt16(bigEndian: end.sin6_port))
        default:
            return nil
        }
    }
}
