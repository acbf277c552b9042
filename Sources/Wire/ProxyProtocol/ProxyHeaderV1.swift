import WireText

/// Version 1 (section 2.1): one line of ASCII.
enum ProxyHeaderV1 {
    /// Including the CRLF: `PROXY UNKNOWN`, two addresses of 39 characters and two ports of five.
    static let maximumBytes = 107
    static let prefix = Array("PROXY ".utf8)

    static func encode(_ header: ProxyHeader) -> [UInt8] {
        guard let endpoints = header.endpoints else { return Array("PROXY UNKNOWN\r\n".utf8) }
        let ends = [endpoints.source, endpoints.destination]
        let addresses = ends.map(\.address).map {
            endpoints.areIPv4 ? IPAddressText.dotted($0.bytes) : IPAddressText.compressed($0.ipv6Bytes)
        }
        let fields = ["PROXY", endpoints.areIPv4 ? "TCP4" : "TCP6"] + addresses + ends.map { String($0.port) }
        return Array((fields.joined(separator: " ") + "\r\n").utf8)
    }

    /// - Parameter line: including ``prefix``, without the CRLF.
    static func decode(_ line: ArraySlice<UInt8>) -> ProxyHeader? {
        let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard fields.count >= 2 else { return nil }
        // Text after UNKNOWN must be ignored.
        if fields[1].elementsEqual("UNKNOWN".utf8) { return ProxyHeader(endpoints: nil) }
        guard fields.count == 6, let readAddress = addressReader(for: fields[1]),
            let source = readAddress(fields[2]), let destination = readAddress(fields[3]),
            let sourcePort = port(fields[4]), let destinationPort = port(fields[5]),
            let from = SocketAddress(bytes: source, port: sourcePort),
            let to = SocketAddress(bytes: destination, port: destinationPort)
        else { return nil }
        return ProxyHeader(source: from, destination: to)
    }

    private static func addressReader(for family: ArraySlice<UInt8>) -> ((ArraySlice<UInt8>) -> [UInt8]?)? {
        if family.elementsEqual("TCP4".utf8) { return IPAddressText.ipv4 }
        if family.elementsEqual("TCP6".utf8) { return IPAddressText.ipv6 }
        return nil
    }

    /// Decimal, without leading zeros.
    private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
        IPAddressText.decimal(digits, maximumDigits: 5).flatMap(UInt16.init(exactly:))
    }
}
