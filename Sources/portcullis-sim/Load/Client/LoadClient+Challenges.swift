import Reactors

// MARK: The scenario `challenge`

extension LoadClient {
    /// The client doesn't connect itself: it sends requests over its worker's connections, each one after the last answer.
    func becomeAsker() {
        stage = .open
        connectEnded()
        worker.statistics.connects += 1
        worker.statistics.connected += 1
        if worker.isTrafficOn { askForChallenge() }
    }

    func askForChallenge() {
        guard stage == .open, worker.isTrafficOn, let requests = worker.requests else { return }
        let asked = worker.reactor.now
        worker.statistics.messagesSent += 1
        requests.challenge { [self] result in
            switch result {
            case .success:
                worker.statistics.messagesAnswered += 1
                if worker.measurement.includes(asked) {
                    worker.statistics.latency.record(nanoseconds: worker.reactor.now - asked)
                }
                askForChallenge()
            case .failure(let kind):
                worker.statistics.errors.count(kind)
                stage = .stopped
            }
        }
    }
}
