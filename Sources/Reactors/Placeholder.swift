import CLibuv
import CLibwebsockets
import COpenSSL
