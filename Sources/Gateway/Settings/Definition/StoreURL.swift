import WireText

/// The database of `STORE_URL`: `postgresql://user@host:port,host:port/database?name=value`.
///
/// It is read more strictly than libpq does: what isn't known is refused, and a password is.
package struct StoreURL: Sendable, Hashable {
    package static let maximumHosts = 8
    package static let maximumBytes = 2_048
    /// What the URL may say beside user, hosts and database. The driver sets everything else itself.
    static let parameterNames: Set<String> = [
        "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile", "channel_binding",
    ]
    private static let verifying = "verify-full"
    /// Debian's bundle of authorities.
    private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

    package struct Host: Sendable, Hashable {
        /// A name, an address, or the folder of a Unix socket.
        package let text: String
        package let port: Int

        /// Whether only this machine can be reached there. A name's address may change, so none is.
        var isLocal: Bool { text.hasPrefix("/") || IPAddress(text: text)?.isLoopback == true }
    }

    package let user: String?
    package let hosts: [Host]
    package let database: String
    /// libpq's names.
    let parameters: [String: String]

    package var isLocal: Bool { hosts.allSatisfy(\.isLocal) }

    /// Whether the server's certificate and name are checked, as they have to be beyond this machine.
    package var isVerified: Bool { isLocal || parameters["sslmode"].map { $0 == Self.verifying } ?? true }

    /// For libpq.
    package var connectionParameters: [String: String] {
        var all = parameters
        all["host"] = hosts.map(\.text).joined(separator: ",")
        all["port"] = hosts.map { String($0.port) }.joined(separator: ",")
        all["dbname"] = database
        all["user"] = user
        if !isLocal {
            all["sslmode"] = all["sslmode"] ?? Self.verifying
            if all["sslmode"] == Self.verifying { all["sslrootcert"] = all["sslrootcert"] ?? Self.authorities }
        }
        return all
    }
}

extension SettingGrammar {
    /// RFC 3986 as PostgreSQL uses it, with several hosts. The problem never quotes the text, which may have a
    /// password.
    static func storeURL(_ text: String) throws(SettingProblem) -> StoreURL? {
        guard text.utf8.count <= StoreURL.maximumBytes, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw malformedStore("Write only visible characters, and encode others with %.")
        }
        let schemes = ["postgresql://", "postgres://"]
        guard let scheme = schemes.first(where: text.hasPrefix) else {
            throw malformedStore("It begins with `postgresql://`.")
        }
        let parts = text.dropFirst(scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard place.count == 2, !place[1].isEmpty else {
            throw malformedStore("Name the database, like `postgresql://db.example.org/portcullis`.")
        }
        var parameters = try storeParameters(parts.count == 2 ? parts[1] : "")
        let (user, authority) = try storeUser(place[0])
        let hosts = try storeHosts(authority, &parameters)
        return StoreURL(
            user: user, hosts: hosts, database: try decoded(place[1]), parameters: parameters)
    }

    private static func storeUser(_ text: Substring) throws(SettingProblem) -> (String?, Substring) {
        guard let end = text.lastIndex(of: "@") else { return (nil, text) }
        let user = text[..<end]
        guard !user.contains(":") else { throw storePassword }
        return (try decoded(user), text[text.index(after: end)...])
    }

    private static func storeParameters(_ text: Substring) throws(SettingProblem) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let words = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(words[0])
            guard name != "password" else { throw storePassword }
            guard words.count == 2, StoreURL.parameterNames.contains(name), parameters[name] == nil else {
                throw malformedStore(
                    "Behind `?` it may have, each once: \(StoreURL.parameterNames.sorted().joined(separator: ", ")).")
            }
            parameters[name] = try decoded(words[1])
        }
        return parameters
    }

    /// In the authority, or as parameters.
    private static func storeHosts(
        _ authority: Substring, _ parameters: inout [String: String]
    ) throws(SettingProblem) -> [StoreURL.Host] {
        let (host, port) = (parameters.removeValue(forKey: "host"), parameters.removeValue(forKey: "port"))
        var hosts: [StoreURL.Host] = []
        if let host {
            guard authority.isEmpty else { throw malformedStore("Name the hosts once.") }
            for name in host.split(separator: ",", omittingEmptySubsequences: false) {
                hosts.append(try storeHost(String(name), port: port))
            }
        } else {
            guard port == nil else { throw malformedStore("Write the port behind its host.") }
            for place in authority.split(separator: ",", omittingEmptySubsequences: false) {
                let (name, port) = split(place)
                hosts.append(try storeHost(try decoded(name), port: port))
            }
        }
        guard hosts.count <= StoreURL.maximumHosts else {
            throw malformedStore("It may have \(StoreURL.maximumHosts) hosts.")
        }
        return hosts
    }

    /// `host:port`; an IPv6 address is in brackets.
    private static func split(_ place: Substring) -> (Substring, String?) {
        if place.hasPrefix("["), let end = place.lastIndex(of: "]") {
            let rest = place[place.index(after: end)...]
            let name = place[place.index(after: place.startIndex)..<end]
            return (rest.isEmpty || rest.hasPrefix(":") ? name : place, rest.isEmpty ? nil : String(rest.dropFirst()))
        }
        guard let colon = place.lastIndex(of: ":") else { return (place, nil) }
        return (place[..<colon], String(place[place.index(after: colon)...]))
    }

    private static func storeHost(_ name: String, port: String?) throws(SettingProblem) -> StoreURL.Host {
        if !(name.hasPrefix("/") && !name.contains(",")) {
            guard (try? host(name)) != nil else { throw malformedStore("A host is a name, an address or a folder.") }
        }
        guard let port else { return StoreURL.Host(text: name, port: 5_432) }
        return StoreURL.Host(text: name, port: try integer(port, in: 1...65_535))
    }

    private static func decoded(_ text: Substring) throws(SettingProblem) -> String {
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let value = Hexadecimal.decode(String(decoding: rest.prefix(2), as: UTF8.self), count: 1) else {
                throw malformedStore("A % is followed by two hexadecimal digits.")
            }
            bytes += value
            rest = rest.dropFirst(2)
        }
        guard !bytes.isEmpty, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }),
            let decoded = String(validating: bytes, as: UTF8.self)
        else { throw malformedStore("A part of it is empty or has control characters.") }
        return decoded
    }

    private static func malformedStore(_ remedy: String) -> SettingProblem {
        SettingProblem(problem: "isn't the URL of a PostgreSQL database", remedy: remedy)
    }

    private static var storePassword: SettingProblem {
        SettingProblem(
            problem: "has a password", remedy: "Write the password into a file, and its path into STORE_PASSWORD_PATH.")
    }
}
