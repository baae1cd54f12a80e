from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **options):
        return ["role lookup of %s %s" % (term, sorted(options)) for term in terms]
