import Dispatch
import Glibc
import Synchronization
import WireText

/// Looks names up with the system's resolver. Blocking: for the command line.
enum NameResolution {
    struct Failure: Error {
        /// The resolver's words.
        let reason: String
    }

    typealias Outcome = Result<[IPAddress], Failure>

    /// Several at once, each once.
    static func addresses(of names: [String]) -> [ByteText: Outcome] {
        let keys = Array(Set(names.map { ByteText($0) }))
        let found = Mutex<[ByteText: Outcome]>([:])
        DispatchQueue.concurrentPerform(iterations: keys.count) { index in
            let outcome = addresses(of: keys[index].text)
            found.withLock { $0[keys[index]] = outcome }
        }
        return found.withLock { $0 }
    }

    /// In the resolver's order, each once.
    static func addresses(of name: String) -> Outcome {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return .failure(Failure(reason: String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = address(entry), !addresses.contains(address) { addresses.append(address) }
            next = entry.ai_next
        }
        return .success(addresses)
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let pointer = entry.ai_addr else { return nil }
        return switch entry.ai_family {
        case AF_INET:
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin_addr) { IPAddress(bytes: Array($0)) }
            }
        case AF_INET6:
            pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { socket in
                withUnsafeBytes(of: socket.pointee.sin6_addr) { IPAddress(bytes: Array($0)) }
            }
        default: nil
        }
    }
}
