package import RelayCore

package struct SessionSection: SettingSection {
    package static let title = "Sessions"

    package let maximumSessions = LiveSetting<Int?>.derived(
        "MAX_SESSIONS_GLOBAL", from: .openConnections, 0...10_000_000, "sessions",
        "Open sessions in total; `0` derives it from the limit of open files.", details: "A session takes two files.")
    package let maximumPerDevice = LiveSetting<Int>.integer(
        "MAX_SESSIONS_PER_DEVICE", default: 5, 1...10_000, "sessions",
        "Sessions of one verified identity, including detached ones; a new one replaces the one that was detached first.",
        details: """
            In a fleet it counts the sessions at all gateways: one too many is found after it was opened, within a second.

            An identity is a key, a certificate or an operator's ticket. A detached session has lost its client. Certificates and tickets with \
            several uses may be strangers': their sessions go only for a new one of the same address, after a quarter of RESUME_GRACE_MINUTES. \
            If none may go, the new one is refused. Anonymous clients have no identity and are counted by address only.
            """)
    package let maximumPerAddress = LiveSetting<Int>.integer(
        "MAX_SESSIONS_PER_ADDRESS", default: 10, 1...1_000_000, "sessions",
        "Sessions of one address, including detached ones.",
        details: """
            An IPv6 address is counted by its /64. Many clients may share one IPv4 address behind a carrier's NAT. At the limit a detached \
            session of the same identity goes after 60 s. Anonymous ones, and those of the same certificate or of operator's tickets, go after \
            a quarter of RESUME_GRACE_MINUTES. Strangers' sessions never do.
            """
    )
    .alsoSpelled("MAX_SESSIONS_PER_IP")
    package let maximumMessageBytes = LiveSetting<Int>.integer(
        "MAX_MESSAGE_BYTES", default: 65_536, 125...16_777_216, "bytes",
        "The size of a client's message: see [DIALECTS.md](DIALECTS.md#how-large-a-message-may-be).",
        details: """
            Escapes of JSON don't count. A larger message is answered with an error; if the dialect has none, the session is closed with 1009.
            """)
    package let pingIntervalSeconds = LiveSetting<Int>.integer(
        "PING_INTERVAL_SECONDS", default: 30, 1...3600, "s",
        "The interval between pings to a client, and the unit of the gateway's patience with it.",
        details: """
            A client that leaves its output unread for one interval is detached, and may resume the session; it counts while 64 KiB are waiting. \
            A client that has to name its target (`typed`, `legacy`) has two. One that sends nothing for three, not even a pong, is dropped. \
            Another gateway of the fleet that is silent about a client for five counts as lost.
            """)
    package let closeFlushMilliseconds = LiveSetting<Int>.integer(
        "CLOSE_FLUSH_MS", default: 5000, 0...600_000, "ms",
        "How long queued bytes are still delivered to one side after the other has ended.")
}

package struct CompressionSection: SettingSection {
    package static let title = "Compression toward clients"

    package let standard = LiveSetting<ClientCompression>.choice(
        "WS_COMPRESSION", default: .off,
        "Whether WebSocket messages may be compressed (permessage-deflate), if the client offers it.",
        details: """
            A route may override it (compression=). Messages with tokens and tickets are never compressed.
            Danger: an attacker who sees the lengths of a player's TLS records, and can have text sent to that player, can find out whether \
            confidential text for that player repeats it. See docs/THREAT-MODEL.md.
            """)
    package let context = LiveSetting<CompressionContext>.choice(
        "WS_COMPRESSION_CONTEXT", default: .both,
        "Which side's messages may refer to earlier ones of the same connection (context takeover).",
        details: """
            `server` is the gateway's side. Context makes short messages much smaller, and costs the memory of the windows.
            """)
    package let totalBytes = LiveSetting<Int>.integer(
        "WS_COMPRESSION_TOTAL_BYTES", default: 67_108_864, 65_536...1_099_511_627_776, "bytes",
        "Memory for the windows of all sessions; as it runs out new sessions get smaller windows, then none.",
        details: """
            When three quarters are used idle sessions release the gateway's windows. If that isn't enough windows become smaller, then the \
            gateway keeps no context, then nothing is compressed. No session is refused because of it.
            """)
}

package struct ResumeSection: SettingSection {
    package static let title = "Resuming a session"

    package let graceMinutes = LiveSetting<Int>.integer(
        "RESUME_GRACE_MINUTES", default: 45, 0...1440, "min",
        "How long a session waits for a lost client; with `0` it ends with its WebSocket.",
        details: "Meanwhile its connection to the target stays open.")
    package let sessionTimeoutHours = LiveSetting<Int>.integer(
        "SESSION_TIMEOUT_HOURS", default: 24, 1...720, "h",
        "The age above which a session can no longer be resumed.")
    package let outputBufferBytes = LiveSetting<Int>.integer(
        "OUTPUT_BUFFER_BYTES", default: 51_200, 1024...16_777_216, "bytes",
        "Output that each session keeps for a client that resumes it.",
        details: "Older output is dropped, and the client is told how much. Each session may use as much.")
    package let tellsTarget = LiveSetting<Bool>.boolean(
        "SESSION_EVENTS_GMCP", default: false,
        "Whether the target is told by GMCP that a client was lost or has resumed its session.")
}

package struct TrafficSection: SettingSection {
    package static let title = "Rates of a session"

    package let messagesPerSecond = LiveSetting<Int?>.limit(
        "MESSAGES_PER_SECOND", default: 60, "a second",
        "Messages of one connection, which is read no faster; `0` is no limit.", details: "Nothing is dropped.")
    package let messagesPerSecondPerAddress = LiveSetting<Int?>.limit(
        "MESSAGES_PER_SECOND_PER_ADDRESS", default: 240, "a second",
        "Messages of all connections of one address, which share it fairly; `0` is no limit.",
        details: "Above it connections that send more than their share are read more slowly."
    )
    .alsoSpelled("MESSAGES_PER_SECOND_PER_IP")
    package let clientBytesPerSecond = LiveSetting<Int?>.limit(
        "CLIENT_BYTES_PER_SECOND", default: 262_144, "bytes a second",
        "How fast one client is read; `0` is no limit.",
        details: "Each frame, each TLS record and each read of its socket counts as 64 bytes more.")
    package let targetBytesPerSecond = LiveSetting<Int?>.limit(
        "TARGET_BYTES_PER_SECOND", default: 4_194_304, "bytes a second",
        "How fast the target is read for one client; `0` is no limit.",
        details: "Each read, TLS record, telnet command and piece of text that is translated counts as 256 bytes more.")
}
