import ArgumentParser

@main struct PortcullisCommand { static func main() {} }
