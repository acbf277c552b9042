import COpenSSL
import Glibc

/// OpenSSL's memory allocator. For each record that it reads or writes, OpenSSL 3.0 allocates a 16 KiB buffer and the packet writer's
/// bookkeeping. It frees the buffer at once, because libwebsockets doesn't let idle connections hold any. On a reactor these blocks are
/// reused from record to record, so a message allocates nothing in the steady state.
///
/// All blocks come from the C library, which alone knows their sizes. Any block may therefore be freed anywhere, here or elsewhere.
enum OpenSSLMemory {
    /// Whether OpenSSL uses this allocator. It must be installed before OpenSSL's first allocation; if that fails, messages allocate.
    ///
    /// Under Address Sanitizer it isn't installed, so that the sanitizer sees each use of a freed block.
    static let isInstalled =
        !isUnderSanitizer
        && CRYPTO_set_mem_functions(
            { size, _, _ in take(size) },
            { block, size, _, _ in realloc(block, size) },
            { block, _, _ in give(block) }) == 1

    private static let isUnderSanitizer = dlsym(nil, "__asan_init") != nil

    /// The value is the thread's `SpareBlocks`, at +1, released when the thread ends. Only reactor threads have one.
    private static let key = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { Unmanaged<SpareBlocks>.fromOpaque($0!).release() }
        precondition(result == 0, "pthread_key_create: \(String(cString: strerror(result)))")
        return key
    }()

    /// Makes the calling thread, a reactor's, keep spare blocks from now on.
    static func keepSpares() {
        guard isInstalled, pthread_getspecific(key) == nil else { return }
        pthread_setspecific(key, Unmanaged.passRetained(SpareBlocks()).toOpaque())
    }

    private static func take(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let spares = pthread_getspecific(key) else { return size > 0 ? malloc(size) : nil }
        return Unmanaged<SpareBlocks>.fromOpaque(spares)._withUnsafeGuaranteedRef { $0.take(size) }
    }

    private static func give(_ block: UnsafeMutableRawPointer?) {
        guard let block, let spares = pthread_getspecific(key) else { return free(block) }
        Unmanaged<SpareBlocks>.fromOpaque(spares)._withUnsafeGuaranteedRef { $0.give(block) }
    }
}

/// Freed blocks of the sizes that every record needs, kept for the next record. One thread only.
final class SpareBlocks {
    /// The packet writer's bookkeeping.
    static let small = 25...40
    static let keptSmall = 32
    /// A record's buffer: 16,384 bytes of payload plus overhead (OpenSSL 3.0: 16,712 to read, 16,584 to write).
    static let large = 16_385...16_712
    static let keptLarge = 8

    @exclusivity(unchecked) private var smallBlocks = FreeList()
    @exclusivity(unchecked) private var largeBlocks = FreeList()

    var count: Int { smallBlocks.count + largeBlocks.count }

    deinit {
        while let block = smallBlocks.pop() ?? largeBlocks.pop() { free(block) }
    }

    /// - Returns: nil for zero bytes, as OpenSSL expects, and if there is no memory.
    func take(_ size: Int) -> UnsafeMutableRawPointer? {
        switch size {
        case Self.small: smallBlocks.pop() ?? malloc(Self.small.upperBound)
        case Self.large: largeBlocks.pop() ?? malloc(Self.large.upperBound)
        case 0: nil
        default: malloc(size)
        }
    }

    func give(_ block: UnsafeMutableRawPointer) {
        switch portcullis_usable_size(block) {
        case Self.fitting(Self.small) where smallBlocks.count < Self.keptSmall: smallBlocks.push(block)
        case Self.fitting(Self.large) where largeBlocks.count < Self.keptLarge: largeBlocks.push(block)
        default: free(block)
        }
    }

    /// The usable sizes of a block that was allocated for the largest of `sizes`. The C library may add up to 16 bytes, because that is too
    /// little for a block of its own.
    private static func fitting(_ sizes: ClosedRange<Int>) -> ClosedRange<Int> {
        sizes.upperBound...sizes.upperBound + 16
    }
}
