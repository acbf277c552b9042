import CLibuv
import Glibc

/// An address that a name resolved to.
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

    var family: Int32 { Int32(storage.ss_family) }

    /// nil for what is neither IPv4 nor IPv6.
    var peer: PeerAddress? { PeerAddress(storage) }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }
}

/// Resolves names on libuv's thread pool: no reactor ever waits for a name server.
enum NameLookup {
    /// Calls `done` once, on the reactor's thread, with up to `maximumAddresses` addresses in the resolver's order.
    static func resolve(
        host: String, port: UInt16, on reactor: Reactor, done: @escaping (Result<[ResolvedAddress], TCPError>) -> Void
    ) {
        let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
        request.pointee.data = Unmanaged.passRetained(Completion(done)).toOpaque()  // Taken back in `finish`.
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        let code = uv_getaddrinfo(reactor.loop, request, { nameLookupDone($0!, $1, $2) }, host, String(port), &hints)
        if code != 0 {
            finish(request, code, nil)
        }
    }

    static let maximumAddresses = 8

    private final class Completion {
        let call: (Result<[ResolvedAddress], TCPError>) -> Void

        init(_ call: @escaping (Result<[ResolvedAddress], TCPError>) -> Void) {
            self.call = call
        }
    }

    fileprivate static func finish(
        _ request: UnsafeMutablePointer<uv_getaddrinfo_t>, _ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?
    ) {
        let completion = Unmanaged<Completion>.fromOpaque(request.pointee.data).takeRetainedValue()
        request.deallocate()
        defer { uv_freeaddrinfo(found) }
        guard status == 0 else { return completion.call(.failure(.notResolved(uvErrorText(status)))) }
        var addresses: [ResolvedAddress] = []
        var next = UnsafePointer(found)
        while let info = next, addresses.count < maximumAddresses {
            if let address = ResolvedAddress(info) { addresses.append(address) }
            next = UnsafePointer(info.pointee.ai_next)
        }
        completion.call(.success(addresses))
    }
}

private func nameLookupDone(
    _ request: UnsafeMutablePointer<uv_getaddrinfo_t>, _ status: Int32, _ found: UnsafeMutablePointer<addrinfo>?
) {
    NameLookup.finish(request, status, found)
}
