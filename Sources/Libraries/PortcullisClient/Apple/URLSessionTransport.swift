#if canImport(Security)
    import Foundation
    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Carries requests and WebSockets with URLSession. It keeps no cookies, no cache and no credentials.
    public final class URLSessionTransport: Transport {
        private let delegate: URLSessionEvents
        private let session: URLSession

        public init(trust: ServerTrust = ServerTrust()) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            configuration.urlCredentialStorage = nil
            // The library has its own limits, and a session may be silent for long.
            configuration.timeoutIntervalForRequest = 86_400
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
            delegate = URLSessionEvents(trust)
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        }

        deinit { session.invalidateAndCancel() }

        public func send(_ request: GateRequest) async throws -> GateResponse {
            let task = session.dataTask(with: try Self.urlRequest(request))
            let exchange = ResponseExchange(maximumBytes: request.maximumBytes)
            delegate.add(.response(exchange), for: task)
            return try await withTaskCancellationHandler {
                task.resume()
                return try await exchange.outcome.value()
            } onCancel: {
                task.cancel()
            }
        }

        public func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
            let task = session.webSocketTask(with: try Self.urlRequest(request))
            task.maximumMessageSize = request.maximumBytes
            let opened = Race<Void>()
            delegate.add(.upgrade(opened), for: task)
            return try await withTaskCancellationHandler {
                task.resume()
                try await opened.value()
                return URLSessionSocket(task)
            } onCancel: {
                task.cancel()
            }
        }

        private static func urlRequest(_ request: GateRequest) throws -> URLRequest {
            guard let url = URL(string: request.url) else { throw GateError.configuration(.invalidURL) }
            var made = URLRequest(url: url)
            made.httpMethod = request.method
            made.httpBody = request.body
            made.httpShouldHandleCookies = false
            for field in request.headers.fields { made.addValue(field.value, forHTTPHeaderField: field.name) }
            return made
        }
    }

    /// An open WebSocket of URLSession.
    final class URLSessionSocket: WebSocketChannel {
        private let task: URLSessionWebSocketTask

        init(_ task: URLSessionWebSocketTask) { self.task = task }

        deinit { task.cancel() }

        func receive() async throws -> WebSocketMessage {
            do {
                switch try await task.receive() {
                case .string(let text): return .text(Array(text.utf8))
                case .data(let data): return .binary(Array(data))
                @unknown default: return .binary([])
                }
            } catch { throw end(error) }
        }

        func send(_ message: WebSocketMessage) async throws {
            do {
                switch message {
                case .text(let bytes): try await task.send(.string(String(decoding: bytes, as: UTF8.self)))
                case .binary(let bytes): try await task.send(.data(Data(bytes)))
                }
            } catch { throw end(error) }
        }

        func ping() async throws {
            // The handler may be called twice, or with an error only when the task ends.
            let pong = Race<Void>()
            task.sendPing { error in pong.finish(error.map { .failure($0) } ?? .success(())) }
            do {
                try await withTaskCancellationHandler {
                    try await pong.value()
                } onCancel: {
                    pong.finish(.failure(CancellationError()))
                }
            } catch { throw end(error) }
        }

        func close(code: UInt16, reason: String) {
            task.cancel(with: .init(rawValue: Int(code)) ?? .normalClosure, reason: Data(reason.utf8))
        }

        private func end(_ error: any Error) -> WebSocketEnd {
            WebSocketEnd(
                closeCode: task.closeCode.rawValue,
                reason: task.closeReason.map { String(decoding: $0, as: UTF8.self) },
                problem: NetworkProblem(urlErrorCode: (error as NSError).code))
        }
    }
#endif
