import Compression
import Testing

@Suite struct InflaterTests {
}
