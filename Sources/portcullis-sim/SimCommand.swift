import ArgumentParser

@main struct SimCommand { static func main() {} }
