package import Logging
import Observability

extension GatewayConfiguration.Logs {
    /// The process' logger, on standard error.
    package func makeLogger() -> Logger {
        Logger(label: "portcullis") { label in
            switch format {
            case .json: JSONLogHandler(label: label, level: level)
            case .text: TextLogHandler(label: label, level: level)
            }
        }
    }
}
