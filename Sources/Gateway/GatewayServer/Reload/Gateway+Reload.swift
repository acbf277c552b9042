import Admission
import BlockingWork
import FoundationEssentials
import KeyStore
import Logging
import Observability
import Reactors
import Relay
import RelayCore
import Settings
import Synchronization

extension Gateway {
    /// Performs requested reloads one after the other, until it is cancelled. It reads files, so the caller provides a
    /// thread.
    func reloadWhenAsked() async {
        for await reply in reloads.requests {
            reportReload()
            let outcome = await reload()
            await reopenAuditLog()
            log(outcome)
            report(outcome)
            tellPredecessor()
            reply(outcome)
        }
    }

    /// Sessions that stayed with the process before obey the same lists.
    private func tellPredecessor() {
        predecessor.withLock { channel in
            do { try channel?.send(.reload, within: Self.predecessorMilliseconds) } catch { channel = nil }
        }
    }

    private static let predecessorMilliseconds = 1_000

    /// Reads the settings and their files again and applies them: all of them or, if any is wrong, none. Not on a
    /// reactor.
    ///
    /// Counts, issued credentials and other state are kept, and sessions continue unless the new settings exclude them.
    /// Existing sessions keep the limits that they began with.
    func reload() async -> ReloadOutcome {
        let outcome = await reloadOnce()
        state.metrics.reloaded(ReloadResult(outcome))
        return outcome
    }

    private func reloadOnce() async -> ReloadOutcome {
        do {
            return try await apply(source.load(now: .now))
        } catch let error as ConfigurationErrors {
            return .refused(error.errors.map(\.description))
        } catch {
            return .refused(["\(error)"])
        }
    }

    /// Everything that can fail is done before anything is changed.
    private func apply(_ loaded: LoadedConfiguration) async throws -> ReloadOutcome {
        let live = loaded.configuration.live
        let old = current.now
        let pinned = StartupPinned(live, after: old.pinned)
        let parts = try GatewayParts(live, pinned, state: state, logger: logger)
        let settings = SettingsInEffect(loaded)
        let difference = ReloadDifference(
            from: old.settings, to: settings, pinned: pinned.kept, missing: pinned.missing)
        // Only a change needs the store: one that doesn't answer now prevents no other reload.
        let (window, former) = (GatewayParts.window(live, pinned), GatewayParts.window(old.live, old.pinned))
        if window != former { try state.putInForce(window, after: former) }

        state.apply(live)
        await server.replace(parts.snapshot, demandsAccess: parts.listening?.demandsAccess ?? true)
        current.replace(
            with: GatewaySnapshot(
                settings: settings.keeping(difference.needingRestart, of: old.settings), pinned: pinned, live: live,
                parts: parts))
        await shutOut(live.blockList)
        await shutOut(by: parts.material)
        noteIssuer(old.parts.relay.tokens?.settings, parts.relay.tokens?.settings)
        noteKey(old.live.tls?.keys, live.tls?.keys)
        for warning in loaded.warningsNow where !warning.isGuess { logger.warning("\(warning)") }
        return .applied(difference)
    }

    /// The key is compared with what was announced before: a reload may announce the one after it.
    private func noteKey(
        _ old: GatewayConfiguration.CertificateKeys?, _ new: GatewayConfiguration.CertificateKeys?
    ) {
        guard let old, let new, old.refuse(new) else { return }
        logger.warning(
            "the certificate has another key than NEXT_CERT_PATH has announced: clients that pin keys refuse it")
    }

    /// The server's certificate may have another first name than before.
    private func noteIssuer(_ old: TokenSettings?, _ new: TokenSettings?) {
        guard let old = old?.issuer, let new = new?.issuer, old != new else { return }
        logger.warning(
            "access tokens of the former issuer are refused now: set PUBLIC_ORIGIN to keep the issuer",
            metadata: [LogKeys.detail: "\(old) → \(new)"])
    }

    /// Closes the sessions of clients that would no longer be admitted. This runs after the reactors have the new
    /// settings, so that none is missed.
    private func shutOut(_ blockList: BlockList) async {
        await server.close(blockList, logger)
    }

    /// Tickets needn't be searched: each is checked against the lists when it is presented.
    private func shutOut(by material: TLSMaterial?) async {
        guard let material else { return }
        let isRevoked = { @Sendable (number: CertificateNumber) in
            material.revokes(issuer: number.issuer, serial: number.serial)
        }
        let count = await server.closeSessions(
            where: { principal, _ in principal.isRevoked(by: .certificates(isRevoked: isRevoked)) },
            reason: .deviceBlocked)
        logger.noteClosed(count, "sessions of revoked certificates closed")
    }

    private static let rotation = BlockingThreads("rotation")
    private static let rotationLimit: Duration = .seconds(2)

    /// For log rotation: the audit log continues in a new file of the same name, even if the settings were refused.
    /// Standard output stays open. On a thread of its own: while the file's disk stalls, a reload waits no longer than
    /// `rotationLimit`.
    private func reopenAuditLog() async {
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        Task(executorPreference: Self.rotation) {
            self.reopenNow()
            ending.finish()
        }
        let limit = Task {
            try? await Task.sleep(for: Self.rotationLimit)
            ending.finish()
        }
        for await _ in end {}
        limit.cancel()
    }

    private func reopenNow() {
        state.journal.writeAll()
        guard state.audit.isFile else { return }
        do throws(LineOutputError) {
            try state.audit.reopen()
            logger.notice("audit log reopened")
        } catch {
            logger.error("audit log can't be reopened", metadata: [LogKeys.error: "\(error)"])
        }
    }

    private func log(_ outcome: ReloadOutcome) {
        switch outcome {
        case .applied(let difference):
            for line in difference.applied { log(line, "setting changed", .notice) }
            for line in difference.needingRestart { log(line, "setting changes with a restart only", .warning) }
            logger.notice("reloaded", metadata: [LogKeys.count: "\(difference.applied.count)"])
        case .refused(let errors):
            for error in errors { logger.error("reload refused", metadata: [LogKeys.error: "\(error)"]) }
            logger.error("the old settings stay", metadata: [LogKeys.count: "\(errors.count)"])
        }
    }

    private func log(_ line: ReloadDifference.Line, _ message: Logger.Message, _ level: Logger.Level) {
        logger.log(
            level: level, message, metadata: [LogKeys.setting: "\(line.setting)", LogKeys.detail: "\(line.change)"])
    }
}

extension RelayServer {
    /// Closes the sessions of clients that a list blocks.
    fileprivate func close(_ blockList: BlockList, _ logger: Logger) async {
        guard !blockList.isEmpty else { return }
        let count = await closeSessions(
            where: { principal, address in
                blockList.contains(address) || principal.names.contains(where: blockList.contains)
            }, reason: .deviceBlocked)
        logger.noteClosed(count, "sessions of blocked clients closed")
    }

    /// Closes the sessions of clients whose proof the store has revoked.
    func close(_ revoked: RevokedCredentials, _ logger: Logger) async {
        guard !revoked.isEmpty else { return }
        let count = await closeSessions(
            where: { principal, _ in principal.isRevoked(by: .store(revoked)) }, reason: .deviceBlocked)
        logger.noteClosed(count, "sessions of revoked keys closed")
    }
}

extension RevocationWatcher {
    /// Closes the sessions of everything revoked, even while the gateway drains. Before that, revoked signing keys stop
    /// verifying tokens.
    ///
    /// - Parameter blockList: of which the sessions of what is new are closed, too.
    convenience init(
        _ store: any GatewayStore, _ tokenKeys: TokenKeys?, _ blockList: SharedBlockList?, of server: RelayServer,
        logger: Logger
    ) throws(GatewayError) {
        do throws(KeyRegistryError) {
            self.init(try store.revocations(), alarm: store.alarm, logger: logger) { revocations in
                tokenKeys?.replace(revocations.signingKeys)
                if let blocked = blockList?.takeNew() { await server.close(blocked, logger) }
                await server.close(RevokedCredentials(revocations), logger)
            }
        } catch {
            throw store.failure("\(error)")
        }
    }
}

extension ReloadResult {
    fileprivate init(_ outcome: ReloadOutcome) {
        switch outcome {
        case .applied: self = .applied
        case .refused: self = .refused
        }
    }
}

extension Logger {
    fileprivate func noteClosed(_ count: Int, _ message: Message) {
        if count > 0 { notice(message, metadata: [LogKeys.count: "\(count)"]) }
    }
}

/// The parts of a configuration that are switched on or off at the start only: TLS toward clients, TLS of the internal
/// listener, and App Attest. If a reload would switch one of them, its last usable settings stay in effect.
struct StartupPinned: Sendable {
    let tls: GatewayConfiguration.TLS?
    let clientCertificates: GatewayConfiguration.ClientCertificates?
    let internalTLS: GatewayConfiguration.InternalTLS?
    let appAttest: GatewayConfiguration.Attestation?
    /// The parts that the last reload would have switched.
    let kept: Set<SettingPart>
    /// Those of them that it would have switched on.
    let missing: Set<SettingPart>

    init(_ live: LiveConfiguration) {
        tls = live.tls
        clientCertificates = live.clientCertificates
        internalTLS = live.internalTLS
        appAttest = live.appAttest
        (kept, missing) = ([], [])
    }

    init(_ live: LiveConfiguration, after old: StartupPinned) {
        let keepsTLS = (live.tls == nil) != (old.tls == nil)
        let keepsInternalTLS = (live.internalTLS == nil) != (old.internalTLS == nil)
        let keepsAppAttest = (live.appAttest == nil) != (old.appAttest == nil)
        tls = keepsTLS ? old.tls : live.tls
        clientCertificates = keepsTLS ? old.clientCertificates : live.clientCertificates
        internalTLS = keepsInternalTLS ? old.internalTLS : live.internalTLS
        appAttest = keepsAppAttest ? old.appAttest : live.appAttest
        let parts: [(part: SettingPart, isKept: Bool, isOff: Bool)] = [
            (.clientTLS, keepsTLS, old.tls == nil), (.internalTLS, keepsInternalTLS, old.internalTLS == nil),
            (.appAttest, keepsAppAttest, old.appAttest == nil),
        ]
        kept = Set(parts.filter(\.isKept).map(\.part))
        missing = Set(parts.filter { $0.isKept && $0.isOff }.map(\.part))
    }
}
