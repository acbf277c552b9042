import NIOPosix
import NIOSSL
import NIOWebSocket
