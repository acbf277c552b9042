#if canImport(Security)
    import Foundation
    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif
    import Security

    /// What URLSession tells of all tasks. It follows no redirection.
    final class URLSessionEvents: NSObject, URLSessionDataDelegate, URLSessionWebSocketDelegate {
        enum Waiting: Sendable {
            case response(ResponseExchange)
            case upgrade(Race<Void>)
        }

        private let trust: ServerTrust
        private let waiting = Locked<[Int: Waiting]>([:])
        /// Why the last server wasn't believed: URLSession itself says only that the task was cancelled.
        private let distrust = Locked<NetworkProblem?>(nil)

        init(_ trust: ServerTrust) { self.trust = trust }

        func add(_ what: Waiting, for task: URLSessionTask) { waiting.withLock { $0[task.taskIdentifier] = what } }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            guard case .response(let exchange) = waiting.withLock({ $0[dataTask.taskIdentifier] }) else { return }
            if !exchange.receive(data) { dataTask.cancel() }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
        ) {
            guard case .upgrade(let opened) = waiting.withLock({ $0[webSocketTask.taskIdentifier] }) else { return }
            opened.finish(.success(()))
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let answer = (task.response as? HTTPURLResponse).map { response in
                let fields = response.allHeaderFields.map { (name: "\($0.key)", value: "\($0.value)") }
                return GateResponse(status: response.statusCode, headers: HeaderFields(fields))
            }
            let problem = error.map { error in
                distrust.withLock { $0.take() } ?? NetworkProblem(urlErrorCode: (error as NSError).code)
            }
            switch waiting.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) {
            case .response(let exchange): exchange.end(answer, problem)
            case .upgrade(let opened): opened.finish(.failure(UpgradeRefusal.error(answer, problem)))
            case nil: break
            }
        }

        // MARK: TLS

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            #if DEBUG
                if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate,
                    let identity = trust.clientCertificate.flatMap(Self.identity)
                {
                    let credential = URLCredential(identity: identity, certificates: nil, persistence: .forSession)
                    return completionHandler(.useCredential, credential)
                }
            #endif
            guard let server = challenge.protectionSpace.serverTrust else {
                return completionHandler(.performDefaultHandling, nil)
            }
            let anchors = trust.authorities.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            if !anchors.isEmpty {
                SecTrustSetAnchorCertificates(server, anchors as CFArray)
                SecTrustSetAnchorCertificatesOnly(server, false)
            }
            let leaf = (SecTrustCopyCertificateChain(server) as? [SecCertificate])?.first
            let problem = trust.problem(
                isTrusted: SecTrustEvaluateWithError(server, nil),
                certificate: leaf.map { Array(SecCertificateCopyData($0) as Data) } ?? [])
            distrust.withLock { $0 = problem }
            if problem != nil { return completionHandler(.cancelAuthenticationChallenge, nil) }
            completionHandler(.useCredential, URLCredential(trust: server))
        }

        #if DEBUG
            private static func identity(_ client: ClientCertificate) -> SecIdentity? {
                var items: CFArray?
                let options = [kSecImportExportPassphrase as String: client.passphrase] as CFDictionary
                guard SecPKCS12Import(client.pkcs12 as CFData, options, &items) == errSecSuccess,
                    let item = (items as? [[String: Any]])?.first?[kSecImportItemIdentity as String]
                else { return nil }
                return (item as! SecIdentity)
            }
        #endif
    }
#endif
