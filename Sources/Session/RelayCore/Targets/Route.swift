import WireText

/// A named target of the operator's. Clients need to know only its name.
///
/// `TARGET_ROUTES` lists them as `name=host:port[,option…]`, separated by semicolons, blanks or line ends:
/// ```
/// live=mud.example.org:4000,tls=required,proxy=v2
/// staging=10.0.0.5:4000,encoding=latin1,mxp=strip,admit=cert+ticket
/// ```
package struct Route: Hashable, Sendable {
    package static let maximumNameBytes = 32
    package static let maximumCount = 256

    package let name: String
    package let endpoint: TargetEndpoint
    package let options: RouteOptions

    package init?(name: String, endpoint: TargetEndpoint, options: RouteOptions = RouteOptions()) {
        guard Self.isName(name) else { return nil }
        self.name = name
        self.endpoint = endpoint
        self.options = options
    }

    /// All routes of the setting, or all of its errors.
    ///
    /// - Parameters:
    ///   - methods: the names of all admission methods.
    ///   - isKnownEncoding: whether the gateway can read text in the encoding of this name.
    package static func list(
        _ text: String, methods: [String], isKnownEncoding: (String) -> Bool
    ) throws(TargetFaults) -> [Route] {
        let entries = text.splitAtBytes { $0 == UInt8(ascii: ";") || ASCIIByte.isWhiteSpace($0) }.filter { !$0.isEmpty }
        var (routes, faults) = TargetFaults.reading(entries) { entry throws(TargetFault) in
            try Route(entry, methods: methods, isKnownEncoding: isKnownEncoding)
        }
        var seen: Set<ByteText> = []
        faults += routes.filter { !seen.insert(ByteText($0.name)).inserted }.map {
            .init(number: nil, fault: .repeatedRoute($0.name))
        }
        if entries.count > maximumCount { faults.append(.init(number: nil, fault: .tooManyRoutes)) }
        guard faults.isEmpty else { throw TargetFaults(entries: faults) }
        return routes
    }

    private init(
        _ text: Substring, methods: [String], isKnownEncoding: (String) -> Bool
    ) throws(TargetFault) {
        let parts = text.splitAtBytes { $0 == UInt8(ascii: ",") }
        guard let target = parts.first, let equals = target.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw .routeForm
        }
        let endpoint = try TargetEndpoint(target[target.utf8.index(after: equals)...])
        var options = RouteOptions()
        for option in parts.dropFirst() {
            try options.read(option, methods: methods, isKnownEncoding: isKnownEncoding)
        }
        guard let route = Route(name: String(target[..<equals]), endpoint: endpoint, options: options) else {
            throw .routeName
        }
        self = route
    }

    /// A name is used unescaped in paths (`/mud/<name>`) and in logs.
    package static func isName(_ text: String) -> Bool {
        let marks = [UInt8(ascii: "-"), UInt8(ascii: "_")]
        return (1...maximumNameBytes).contains(text.utf8.count) && text.utf8.first.map { !marks.contains($0) } == true
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || ASCIIByte.isDigit(byte) || marks.contains(byte)
            }
    }
}
