import Foundation

/// What a run has found, for people as a table and for programs as JSON.
struct LoadReport: Hashable, Sendable, Codable {
    struct Connects: Hashable, Sendable, Codable {
        /// All of the run.
        let opened, failed: UInt64
        /// While all clients were connected for the first time or, in the scenario `connect`, during the measurement.
        let perSecond: Double
        let seconds: Double
        /// From the intended start to the 101: challenge, assertion, TCP and TLS included.
        let latencyMicroseconds: LatencySummary?
    }

    struct Traffic: Hashable, Sendable, Codable {
        let messagesSent, messagesAnswered, bytesSent, bytesReceived: UInt64
        let messagesPerSecond, megabytesPerSecondUp, megabytesPerSecondDown: Double
        /// From the intended time of sending to the last byte of the answer.
        let latencyMicroseconds: LatencySummary?
    }

    struct Flapping: Hashable, Sendable, Codable {
        let vanished, answersLost, resumed, takenOver, overtaken, postponed, begun, begunAnew, abandonedBytes,
            unclaimed: UInt64
        let gaps, gapBytes, checkedBytes: UInt64
    }

    struct Process: Hashable, Sendable, Codable {
        let cpuSeconds, cpuPercent: Double
        let cpuMicrosecondsPerMessage, cpuMicrosecondsPerConnect: Double?
        let residentBytesBefore, residentBytesAfter, residentBytesHighest: UInt64
        let threads: Int
        /// Of the counter that `--counter` named.
        let counted: UInt64?
        let countedPerMessage: Double?
    }

    let scenario: String
    let gateway: String
    let clients: Int
    /// Of the measurement.
    let seconds: Double
    let connects: Connects
    let traffic: Traffic
    let flapping: Flapping?
    let gatewayProcess: Process?
    /// This tool's own: where it is near 100 % a thread, it is the tool that was measured.
    let ownProcess: Process?
    let errors: [String: UInt64]
    let tolerated: [String]
    /// Nothing was lost or wrong, but for what was tolerated.
    let isGood: Bool

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
