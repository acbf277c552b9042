package import Logging
import Observability
package import Settings

extension GatewayConfiguration {
    /// The process' logger, on standard error.
    package func makeLogger() -> Logger {
        let (format, level) = (self.logs.format, self.logs.level)
        return Logger(label: "portcullis") { label in
            switch format {
            case .json: JSONLogHandler(label: label, level: level)
            case .text: TextLogHandler(label: label, level: level)
            }
        }
    }
}
