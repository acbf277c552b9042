/// How fast sessions may talk. 0 and nil: no limit.
package struct TrafficSettings: Sendable {
    /// `MESSAGES_PER_SECOND`
    package var messagesPerSecond = 60
    /// `CLIENT_BYTES_PER_SECOND`
    package var clientBytesPerSecond = 262_144
    /// `TARGET_BYTES_PER_SECOND`
    package var targetBytesPerSecond = 4_194_304
    /// `MESSAGES_PER_SECOND_PER_IP`: one for all reactors.
    package var perAddress: AddressPaces?

    package init() {}

    var limitsClient: Bool { messagesPerSecond > 0 || clientBytesPerSecond > 0 || perAddress != nil }
}
