import Benchmark
import CoreMetrics
import Observability
import PrometheusText

/// What counting costs: with the exporter's registry, and with a backend that does nothing.
func metricsBenchmarks() {
    for (name, factory) in backends {
        measure("metrics: bytes of a message (\(name))", times: .kilo) { _ in
            GatewayMetrics(factory: factory())
        } _: { metrics, _ in
            metrics.relayed(64, .fromClient)
        }
        measure("metrics: a decision of the gate (\(name))", times: .kilo) { _ in
            GatewayMetrics(factory: factory())
        } _: { metrics, _ in
            metrics.decided(.refused, by: NoReason.none, reason: NoReason.none)
        }
        measure("metrics: the time of an upgrade (\(name))", times: .kilo) { _ in
            GatewayMetrics(factory: factory())
        } _: { metrics, _ in
            metrics.answeredUpgrade(.admitted, nanoseconds: 1_500_000)
        }
    }
    measure("metrics: an answer to a scrape", times: .one) { _ in
        let registry = MetricRegistry(MetricName.families)
        _ = GatewayMetrics(factory: registry)
        return registry
    } _: { registry, _ in
        blackHole(registry.exposition(.openMetrics))
    }
}

private let backends: [(String, @Sendable () -> any MetricsFactory)] = [
    ("registry", { MetricRegistry(MetricName.families) }), ("none", { NOOPMetricsHandler.instance }),
]
