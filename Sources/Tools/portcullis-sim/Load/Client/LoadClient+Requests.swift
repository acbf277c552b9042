import DeviceSimulation
import Reactors

// MARK: The scenarios without WebSockets: `challenge`, `token`, `proof`, `signed`, `passkey` and `refresh`

extension LoadClient {
    /// The client doesn't connect itself: it sends requests over its worker's connections, each one after the last
    /// answer.
    func becomeAsker() {
        stage = .open
        connectEnded()
        worker.statistics.connects += 1
        worker.statistics.connected += 1
        if worker.isTrafficOn { ask() }
    }

    func ask() {
        guard stage == .open, worker.isTrafficOn else { return }
        let asked = worker.reactor.now
        worker.statistics.messagesSent += 1
        request { [self] failure in
            if let failure {
                worker.statistics.errors.count(failure)
                stage = .stopped
                return
            }
            worker.statistics.messagesAnswered += 1
            if worker.measurement.includes(asked) {
                worker.statistics.latency.record(nanoseconds: worker.reactor.now - asked)
            }
            ask()
        }
    }

    private func request(_ done: @escaping (ErrorKind?) -> Void) {
        switch settings.scenario {
        case .token: worker.devices?.renew(for: index, done)
        case .proof: authorize(done)
        case .signed: sign(done)
        case .passkey: worker.devices?.signIn(for: index, done)
        case .refresh: worker.devices?.refresh(for: index, done)
        default:
            worker.requests?.challenge { result in
                if case .failure(let kind) = result { done(kind) } else { done(nil) }
            }
        }
    }

    /// Asks `/authz` about a request to an imaginary service, as its proxy would.
    private func authorize(_ done: @escaping (ErrorKind?) -> Void) {
        guard let devices = worker.devices, let authorizer = worker.authorizer else { return }
        devices.headers(for: index, "GET", path: Self.service) { [devices] result in
            switch result {
            case .failure(let kind): done(kind)
            case .success(let headers):
                let original = devices.forwarded("GET", path: Self.service)
                authorizer.request("GET", "/authz", headers: headers + original, body: [], failure: .notAuthorized) {
                    result in
                    switch result {
                    case .failure(let kind): done(kind)
                    case .success(let answer):
                        done(answer.status == 204 ? nil : .refused(status: answer.status, code: "authz"))
                    }
                }
            }
        }
    }

    /// Asks `/authz` about a request that the device has signed, as a proxy would that forwards bodies, or none.
    private func sign(_ done: @escaping (ErrorKind?) -> Void) {
        guard let devices = worker.devices, let authorizer = worker.authorizer else { return }
        let body = [UInt8](repeating: UInt8(ascii: "a"), count: settings.messageBytes)
        let isForwarded = settings.recipe == 1
        devices.signedHeaders(for: index, "PUT", path: Self.service, body: body, recipe: settings.recipe) {
            [devices, index] result in
            switch result {
            case .failure(let kind): done(kind)
            case .success(let headers):
                var headers = headers + devices.forwarded("PUT", path: Self.service)
                if isForwarded { headers.append(("X-Original-Content-Length", "\(body.count)")) }
                authorizer.request(
                    isForwarded ? "POST" : "GET", "/authz", headers: headers, body: isForwarded ? body : [],
                    failure: .notAuthorized
                ) { result in
                    guard case .success(let answer) = result else { return done(.notAuthorized) }
                    devices.keep(answer.nextChallenge, for: index)
                    done(answer.status == 204 ? nil : .refused(status: answer.status, code: "authz"))
                }
            }
        }
    }

    private static let service = "/api/chat/completions"
}
