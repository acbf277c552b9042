/// Values that follow from a setting.
extension ValuesOfSection where Section == LimitSection, Access: ReadsLiveSettings {
    /// A registration costs far more than a challenge, and a device needs one in its life.
    package var registrationsPerMinute: Int { max(1, self.challengesPerMinute / 10) }
    /// A client needs a challenge for each.
    package var tokensPerMinute: Int { self.challengesPerMinute }
    /// Credentials that are still verified for an address above its limit of failed upgrades.
    package var verificationsPerSecond: Int { min(2 * self.failedUpgradesPerMinute, 100_000) }
}

extension ValuesOfSection where Section == SessionSection, Access: ReadsLiveSettings {
    /// A client that has sent nothing for this time, not even a pong, is dropped.
    package var peerSilenceSeconds: Int { 3 * self.pingIntervalSeconds }
    /// A client that has left its output unread for this time is detached.
    package var slowClientSeconds: Int { self.pingIntervalSeconds }
    /// For a client to name a target that can be reached, in dialects in which the client names it.
    package var connectWaitSeconds: Int { 2 * self.pingIntervalSeconds }
    /// Another gateway that is silent about a client for this time counts as lost.
    package var gatewaySilenceSeconds: Int { 5 * self.pingIntervalSeconds }
}

extension ValuesOfSection where Section == CopyoverSection, Access: ReadsLiveSettings {
    /// For requests, dials and closing WebSockets to finish before the sessions are handed over.
    package var settleMilliseconds: Int { self.readyMilliseconds / 10 }
}
